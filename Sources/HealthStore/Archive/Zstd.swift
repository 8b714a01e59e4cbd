import CZstd

/// Compresses bytes with libzstd, and reuses its memory from one call to the next.
final class Compressor {
    private let context: OpaquePointer
    private var buffer: [UInt8] = []

    /// - Parameter level: 1 (fast) to 19 (small).
    /// - Throws: `ArchiveError.noMemory`.
    init(level: Int32) throws(ArchiveError) {
        guard let context = ZSTD_createCCtx() else { throw .noMemory }
        self.context = context
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)
        // The length stands in front of every frame already.
        ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0)
    }

    deinit { ZSTD_freeCCtx(context) }

    /// Appends the bytes to `target`: whether they are compressed, their lengths, and themselves.
    func append(_ bytes: [UInt8], to target: inout [UInt8]) {
        let most = ZSTD_compressBound(bytes.count)
        if buffer.count < most { buffer = [UInt8](repeating: 0, count: most) }
        let size = ZSTD_compress2(context, &buffer, buffer.count, bytes, bytes.count)
        // An error is larger than every length.
        let isSmaller = ZSTD_isError(size) == 0 && size < bytes.count
        target.append(varint: UInt64(bytes.count) << 1 | (isSmaller ? 1 : 0))
        if isSmaller {
            target.append(varint: UInt64(size))
            target += buffer[..<size]
        } else {
            target += bytes
        }
    }
}

/// Reads what `Compressor` wrote, and the numbers between.
struct FrameReader {
    private let bytes: [UInt8]
    private var position = 0
    private let context: Decompressor

    init(_ bytes: [UInt8], _ context: Decompressor) {
        self.bytes = bytes
        self.context = context
    }

    var isAtEnd: Bool { position == bytes.count }

    mutating func byte() throws(ArchiveError) -> UInt8 {
        guard position < bytes.count else { throw .malformed }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func varint() throws(ArchiveError) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: 0, to: 64, by: 7) {
            let byte = try byte()
            number |= UInt64(byte & 0x7F) << UInt64(shift)
            if byte < 0x80 { return number }
        }
        throw .malformed
    }

    /// Returns a count of things that take at least one bit each in a segment, so that a malformed
    /// one cannot ask for more memory than a segment may have.
    mutating func count() throws(ArchiveError) -> Int {
        let number = try varint()
        guard number <= UInt64(Segment.mostRecords) else { throw .malformed }
        return Int(number)
    }

    mutating func frame(atMost limit: Int) throws(ArchiveError) -> [UInt8] {
        let head = try varint()
        let count = Int(truncatingIfNeeded: head >> 1)
        guard count <= limit else { throw .malformed }
        let size = head & 1 == 1 ? Int(truncatingIfNeeded: try varint()) : count
        guard size >= 0, size <= bytes.count - position else { throw .malformed }
        defer { position += size }
        guard head & 1 == 1 else { return Array(bytes[position..<position + size]) }
        guard let plain = context.decompress(bytes[position..<position + size], to: count) else {
            throw .malformed
        }
        return plain
    }
}

/// The memory with which libzstd decompresses.
final class Decompressor {
    private let context: OpaquePointer

    init() throws(ArchiveError) {
        guard let context = ZSTD_createDCtx() else { throw .noMemory }
        self.context = context
    }

    deinit { ZSTD_freeDCtx(context) }

    /// Returns exactly `count` bytes, or `nil`.
    fileprivate func decompress(_ bytes: ArraySlice<UInt8>, to count: Int) -> [UInt8]? {
        var isWhole = false
        let plain = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            bytes.withUnsafeBytes { source in
                let size = ZSTD_decompressDCtx(
                    context, buffer.baseAddress, count, source.baseAddress, source.count)
                isWhole = size == count
            }
            initialized = isWhole ? count : 0
        }
        return isWhole ? plain : nil
    }
}

extension [UInt8] {
    /// Appends a number in groups of seven bits, the lowest first.
    mutating func append(varint number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }
}

extension Archive {
    /// The version of the library that compresses the archive, which is part of this program.
    public static var zstandardVersion: String { String(cString: ZSTD_versionString()) }
}
