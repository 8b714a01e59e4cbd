/// A zip archive, built byte by byte with any false entries that a test needs.
struct ZipBuilder {
    /// A member of the archive. Values that are not given are computed from the others.
    struct Member {
        var name: [UInt8]
        /// The bytes in the archive: the content itself, or the content as `method` compresses it.
        var stored: [UInt8]
        /// 0 for stored, 8 for deflated.
        var method: UInt16 = 0
        /// Bit 0: encrypted.
        var flags: UInt16 = 0
        var checksum: UInt32?
        /// The uncompressed size that the archive declares; beyond 32 bits in the zip64 form.
        var size: UInt64?
        /// The external attributes, with the Unix file mode in the upper half.
        var attributes: UInt32 = 0

        init(_ name: String, _ stored: [UInt8]) {
            self.name = Array(name.utf8)
            self.stored = stored
        }
    }

    var members: [Member] = []

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        var directory: [UInt8] = []
        for member in members {
            let place = UInt32(bytes.count)
            let head = ZipBuilder.head(of: member)
            bytes += ZipBuilder.number(0x0403_4B50 as UInt32) + head.fields
            bytes += ZipBuilder.number(UInt16(member.name.count))
            bytes += ZipBuilder.number(UInt16(head.extra.count)) + member.name + head.extra
            bytes += member.stored
            directory += ZipBuilder.number(0x0201_4B50 as UInt32)
            directory += ZipBuilder.number(0x031E as UInt16) + head.fields
            directory += ZipBuilder.number(UInt16(member.name.count))
            directory += ZipBuilder.number(UInt16(head.extra.count))
            directory += [UInt8](repeating: 0, count: 6)
            directory += ZipBuilder.number(member.attributes) + ZipBuilder.number(place)
            directory += member.name + head.extra
        }
        let end = ZipBuilder.number(0x0605_4B50 as UInt32) + [0, 0, 0, 0]
        let count = ZipBuilder.number(UInt16(members.count))
        let sizes =
            ZipBuilder.number(UInt32(directory.count)) + ZipBuilder.number(UInt32(bytes.count))
        return bytes + directory + end + count + count + sizes + [0, 0]
    }

    /// Returns a text followed by about `count` spaces, deflated. The spaces shrink to a 158th (RFC
    /// 1951, fixed codes), so 10 GB become 65 MB.
    static func deflatedSpaces(after head: [UInt8], count: Int) -> [UInt8] {
        // Stored blocks for the head.
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: head.count, by: 65_535) {
            let part = head[start..<min(head.count, start + 65_535)]
            bytes += [0] + number(UInt16(part.count)) + number(~UInt16(part.count)) + part
        }
        var bits = BitWriter(bytes)
        bits.write(0b011, 3)
        // A space (literal 32: code 0x30 + 32 in 8 bits), then `count / 258` times 258 copies of
        // it: length code 285 (0xC5 in 8 bits), distance code 0 in 5 bits.
        bits.writeCode(0x30 + 32, 8)
        for _ in 0..<count / 258 {
            bits.writeCode(0xC5, 8)
            bits.writeCode(0, 5)
        }
        bits.writeCode(0, 7)
        return bits.finished
    }

    private static func head(of member: Member) -> (fields: [UInt8], extra: [UInt8]) {
        let size = member.size ?? UInt64(member.stored.count)
        let isLarge = size > 0xFFFF_FFFE
        var fields = number(45 as UInt16) + number(member.flags) + number(member.method)
        fields += number(0x5A21_0000 as UInt32)
        fields += number(member.checksum ?? crc32(member.stored))
        fields += number(UInt32(member.stored.count))
        fields += number(isLarge ? UInt32.max : UInt32(size))
        let extra = isLarge ? number(1 as UInt16) + number(8 as UInt16) + number(size) : []
        return (fields, extra)
    }

    private static func number<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    private static func crc32(_ bytes: [UInt8]) -> UInt32 {
        var crc = UInt32.max
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc >> 1 ^ (crc & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
        return ~crc
    }
}

/// Writes bits, the lowest of a byte first.
private struct BitWriter {
    private var bytes: [UInt8]
    private var waiting: UInt32 = 0
    private var count: UInt32 = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Writes a number of `width` bits, the lowest first.
    mutating func write(_ value: UInt32, _ width: UInt32) {
        waiting |= value << count
        count += width
        while count >= 8 {
            bytes.append(UInt8(truncatingIfNeeded: waiting))
            waiting >>= 8
            count -= 8
        }
    }

    /// Writes a Huffman code, the highest bit first.
    mutating func writeCode(_ code: UInt32, _ width: UInt32) {
        var turned: UInt32 = 0
        for bit in 0..<width where code >> bit & 1 == 1 { turned |= 1 << (width - 1 - bit) }
        write(turned, width)
    }

    var finished: [UInt8] { count > 0 ? bytes + [UInt8(truncatingIfNeeded: waiting)] : bytes }
}
