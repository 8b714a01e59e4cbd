import CZstd

// A segment as bytes: one column after the other, each in planes of bytes that libzstd compresses
// apart. Neighbouring records have like values, so that most planes are nearly empty.

extension Segment {
    private static let version: UInt8 = 1
    /// The form of a value is a byte.
    private static let mostForms = 256

    /// Returns the segment as bytes. Records in the order of time need the fewest.
    func encoded(_ compressor: Compressor) -> [UInt8] {
        var bytes: [UInt8] = [Segment.version]
        bytes.append(varint: UInt64(records.count))
        var columns = ColumnWriter(compressor)
        columns.put(starts: records)
        columns.put(records.map { Zigzag.unsigned($0.end &- $0.start) })
        columns.put(
            records.map { record in
                record.created.map { Zigzag.unsigned($0 &- record.end) &+ 1 } ?? 0
            })
        columns.put(
            records.map {
                UInt64(UInt16(bitPattern: $0.offsets.start))
                    | UInt64(UInt16(bitPattern: $0.offsets.end)) << 16
                    | UInt64(UInt16(bitPattern: $0.offsets.created)) << 32
            })
        // The table of a segment may have texts of records that another segment has.
        var used = UsedTexts()
        columns.put(records.map { used.place($0.origin) })
        columns.put(records.map { record in record.metadata.map { used.place($0) + 1 } ?? 0 })
        columns.put(records.map(\.value.form))
        let forms = records.reduce(UInt32(0)) { $0 | 1 << UInt32($1.value.decimals ?? 31) }
        for decimals in 0...RecordNumber.mostDecimals where forms & 1 << decimals != 0 {
            columns.put(
                mantissas: records.compactMap {
                    if case .number(let mantissa, UInt8(decimals)) = $0.value {
                        mantissa
                    } else {
                        nil
                    }
                })
        }
        columns.put(
            records.compactMap {
                if case .text(let index) = $0.value { used.place(index) } else { nil }
            })
        columns.put(texts: used.indices.map { texts[$0] })
        return bytes + columns.bytes
    }

    /// Reads what `encoded` wrote.
    init(_ bytes: [UInt8], _ decompressor: Decompressor) throws(ArchiveError) {
        var reader = FrameReader(bytes, decompressor)
        guard try reader.byte() == Segment.version else { throw .malformed }
        let count = try reader.count()
        let starts = try reader.starts(count)
        let spans = try reader.column(count)
        let created = try reader.column(count)
        let offsets = try reader.column(count)
        let origins = try reader.column(count)
        let metadata = try reader.column(count)
        let forms = try reader.column(count)
        // The number of records of each form, and how many of them were read so far.
        var counts = [Int](repeating: 0, count: Segment.mostForms)
        for form in forms {
            guard form < Segment.mostForms else { throw .malformed }
            counts[Int(form)] += 1
        }
        var numbers: [[Int64]] = []
        for form in 0...RecordNumber.mostDecimals {
            numbers.append(counts[form] > 0 ? try reader.mantissas(counts[form]) : [])
        }
        let words = try reader.column(counts[Int(ArchivedRecord.Value.textForm)])
        texts = TextTable(try reader.texts())
        guard reader.isAtEnd else { throw .malformed }
        let textCount = UInt64(texts.count)
        var next = [Int](repeating: 0, count: Segment.mostForms)
        records.reserveCapacity(count)
        // The start is relative to the record before: its start, or its end.
        var previous: Int64 = 0
        for index in 0..<count {
            let start = previous &+ Zigzag.signed(starts.deltas[index])
            let end = start &+ Zigzag.signed(spans[index])
            previous = starts.areFromEnds ? end : start
            let form = Int(forms[index])
            let position = next[form]
            next[form] = position + 1
            let value: ArchivedRecord.Value
            switch UInt64(form) {
            case ArchivedRecord.Value.noForm: value = .none
            case ArchivedRecord.Value.textForm:
                guard words[position] < textCount else { throw .malformed }
                value = .text(UInt32(words[position]))
            default:
                guard form < numbers.count else { throw .malformed }
                value = .number(mantissa: numbers[form][position], decimals: UInt8(form))
            }
            guard origins[index] < textCount, metadata[index] <= textCount else {
                throw .malformed
            }
            records.append(
                ArchivedRecord(
                    start: start, end: end,
                    created: created[index] == 0 ? nil : end &+ Zigzag.signed(created[index] &- 1),
                    offsets: ClockOffsets(
                        start: Int16(truncatingIfNeeded: offsets[index]),
                        end: Int16(truncatingIfNeeded: offsets[index] >> 16),
                        created: Int16(truncatingIfNeeded: offsets[index] >> 32)),
                    origin: UInt32(origins[index]), value: value,
                    metadata: metadata[index] == 0 ? nil : UInt32(metadata[index] - 1)))
        }
    }
}

extension Segment {
    /// Returns the texts of the origins of what `encoded` wrote; the other columns stay compressed.
    static func origins(
        in bytes: [UInt8], _ decompressor: Decompressor
    ) throws(ArchiveError) -> [[UInt8]] {
        var reader = FrameReader(bytes, decompressor)
        guard try reader.byte() == Segment.version else { throw .malformed }
        let count = try reader.count()
        _ = try reader.byte()
        for _ in 0..<4 { try reader.skipColumn() }
        let origins = try reader.column(count)
        try reader.skipColumn()
        var forms: Set<UInt64> = []
        for form in try reader.column(count) where forms.count < Segment.mostForms {
            forms.insert(form)
        }
        for form in 0...RecordNumber.mostDecimals where forms.contains(UInt64(form)) {
            _ = try reader.byte()
            try reader.skipColumn()
        }
        try reader.skipColumn()
        let texts = try reader.texts()
        var isOrigin = [Bool](repeating: false, count: texts.count)
        for origin in origins {
            guard origin < UInt64(texts.count) else { throw .malformed }
            isOrigin[Int(origin)] = true
        }
        return zip(texts, isOrigin).filter(\.1).map(\.0)
    }
}

extension ArchivedRecord.Value {
    static let noForm: UInt64 = 254
    static let textForm: UInt64 = 255

    /// The number of decimals, or another form of value.
    fileprivate var form: UInt64 {
        switch self {
        case .none: ArchivedRecord.Value.noForm
        case .number(_, let decimals): UInt64(decimals)
        case .text: ArchivedRecord.Value.textForm
        }
    }

    fileprivate var decimals: UInt8? {
        if case .number(_, let decimals) = self { decimals } else { nil }
    }
}

/// The texts that a segment's records refer to, numbered anew from 0.
private struct UsedTexts {
    private(set) var indices: [UInt32] = []
    private var places: [UInt32: UInt64] = [:]
    private var last: (index: UInt32, place: UInt64)?

    mutating func place(_ index: UInt32) -> UInt64 {
        if let last, last.index == index { return last.place }
        let place = places[index] ?? UInt64(indices.count)
        if place == indices.count {
            places[index] = place
            indices.append(index)
        }
        last = (index, place)
        return place
    }
}

/// Signed numbers as unsigned ones that are small when they are near 0.
enum Zigzag {
    static func unsigned(_ number: Int64) -> UInt64 {
        UInt64(bitPattern: (number << 1) ^ (number >> 63))
    }

    static func signed(_ number: UInt64) -> Int64 {
        Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    }
}

/// Writes columns of numbers.
private struct ColumnWriter {
    private let compressor: Compressor
    private(set) var bytes: [UInt8] = []

    init(_ compressor: Compressor) { self.compressor = compressor }

    /// Writes the number of bytes that the largest number needs, and a plane for each.
    mutating func put(_ numbers: [UInt64]) {
        let most = numbers.max() ?? 0
        let width = (UInt64.bitWidth - most.leadingZeroBitCount + 7) / 8
        bytes.append(UInt8(width))
        for plane in 0..<width {
            let shift = UInt64(8 * plane)
            let content = [UInt8](unsafeUninitializedCapacity: numbers.count) { buffer, count in
                for (index, number) in numbers.enumerated() {
                    buffer[index] = UInt8(truncatingIfNeeded: number >> shift)
                }
                count = numbers.count
            }
            compressor.append(content, to: &bytes)
        }
    }

    /// Writes the starts, each as its distance from the start before, or from the end before where
    /// those are nearer: samples of one sensor often follow each other without a gap.
    mutating func put(starts records: [ArchivedRecord]) {
        var fromStart: UInt64 = 0
        var fromEnd: UInt64 = 0
        for (one, next) in zip(records, records.dropFirst()) {
            fromStart &+= (next.start &- one.start).magnitude
            fromEnd &+= (next.start &- one.end).magnitude
        }
        let areFromEnds = fromEnd < fromStart
        bytes.append(areFromEnds ? 1 : 0)
        var previous: Int64 = 0
        put(
            records.map { record in
                defer { previous = areFromEnds ? record.end : record.start }
                return Zigzag.unsigned(record.start &- previous)
            })
    }

    /// Writes numbers as they are, or as the distances between them where that is shorter.
    mutating func put(mantissas: [Int64]) {
        var plain = ColumnWriter(compressor)
        plain.put(mantissas.map(Zigzag.unsigned))
        var apart = ColumnWriter(compressor)
        var previous: Int64 = 0
        apart.put(
            mantissas.map { mantissa in
                defer { previous = mantissa }
                return Zigzag.unsigned(mantissa &- previous)
            })
        let isApart = apart.bytes.count < plain.bytes.count
        bytes.append(isApart ? 1 : 0)
        bytes += isApart ? apart.bytes : plain.bytes
    }

    mutating func put(texts: [[UInt8]]) {
        bytes.append(varint: UInt64(texts.count))
        put(texts.map { UInt64($0.count) })
        compressor.append(Array(texts.joined()), to: &bytes)
    }
}

extension FrameReader {
    /// The most bytes in all texts of a segment.
    private static let mostText = 1 << 28

    fileprivate mutating func column(_ count: Int) throws(ArchiveError) -> [UInt64] {
        let width = Int(try byte())
        guard width <= 8 else { throw .malformed }
        var numbers = [UInt64](repeating: 0, count: count)
        for plane in 0..<width {
            let bytes = try frame(atMost: count)
            guard bytes.count == count else { throw .malformed }
            let shift = UInt64(8 * plane)
            for index in 0..<count { numbers[index] |= UInt64(bytes[index]) << shift }
        }
        return numbers
    }

    fileprivate mutating func skipColumn() throws(ArchiveError) {
        for _ in 0..<Int(try byte()) { try skipFrame() }
    }

    fileprivate mutating func starts(
        _ count: Int
    ) throws(ArchiveError) -> (deltas: [UInt64], areFromEnds: Bool) {
        let areFromEnds = try byte() == 1
        return (try column(count), areFromEnds)
    }

    fileprivate mutating func mantissas(_ count: Int) throws(ArchiveError) -> [Int64] {
        let isApart = try byte() == 1
        let numbers = try column(count).map(Zigzag.signed)
        guard isApart else { return numbers }
        var sum: Int64 = 0
        return numbers.map { number in
            sum &+= number
            return sum
        }
    }

    fileprivate mutating func texts() throws(ArchiveError) -> [[UInt8]] {
        let count = try count()
        let lengths = try column(count)
        let bytes = try frame(atMost: FrameReader.mostText)
        var texts: [[UInt8]] = []
        var position = 0
        for length in lengths {
            guard length <= UInt64(bytes.count - position) else { throw .malformed }
            texts.append(Array(bytes[position..<position + Int(length)]))
            position += Int(length)
        }
        guard position == bytes.count else { throw .malformed }
        return texts
    }
}

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

    mutating func skipFrame() throws(ArchiveError) {
        let head = try varint()
        let size = Int(truncatingIfNeeded: head & 1 == 1 ? try varint() : head >> 1)
        guard size >= 0, size <= bytes.count - position else { throw .malformed }
        position += size
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
