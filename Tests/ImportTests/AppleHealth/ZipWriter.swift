/// Makes zip archives of stored members, which may be odd in several ways.
struct ZipWriter {
    struct Member {
        var name: [UInt8]
        var bytes: [UInt8]
        /// Whether the name is marked as UTF-8.
        var isUTF8 = true
        /// Whether the sizes have zip64 form, as for members beyond 4 GiB.
        var isZip64 = false
        /// Whether the checksum is wrong.
        var isCorrupt = false

        init(
            _ name: String, _ bytes: [UInt8], isUTF8: Bool = true, isZip64: Bool = false,
            isCorrupt: Bool = false
        ) {
            self.name = Array(name.utf8)
            self.bytes = bytes
            self.isUTF8 = isUTF8
            self.isZip64 = isZip64
            self.isCorrupt = isCorrupt
        }
    }

    static func archive(_ members: [Member]) -> [UInt8] {
        var file: [UInt8] = []
        var directory: [UInt8] = []
        for member in members {
            let offset = file.count
            let checksum = checksum(member.bytes) ^ (member.isCorrupt ? 1 : 0)
            let size = UInt64(member.bytes.count)
            let shortSize = member.isZip64 ? UInt64(UInt32.max) : size
            let extra =
                member.isZip64
                ? little(1, 2) + little(16, 2) + little(size, 8) + little(size, 8) : []
            let common =
                little(member.isZip64 ? 45 : 20, 2) + little(member.isUTF8 ? 0x800 : 0, 2)
                + little(0, 2) + little(0, 2) + little(0x5B6E, 2) + little(UInt64(checksum), 4)
                + little(shortSize, 4) + little(shortSize, 4)
                + little(UInt64(member.name.count), 2) + little(UInt64(extra.count), 2)
            file += little(0x0403_4B50, 4) + common + member.name + extra + member.bytes
            directory += little(0x0201_4B50, 4) + little(45, 2) + common
            directory += little(0, 2) + little(0, 2) + little(0, 2) + little(0, 4)
            directory += little(UInt64(offset), 4) + member.name + extra
        }
        let count = UInt64(members.count)
        let end =
            little(0x0605_4B50, 4) + little(0, 4) + little(count, 2) + little(count, 2)
            + little(UInt64(directory.count), 4) + little(UInt64(file.count), 4) + little(0, 2)
        return file + directory + end
    }

    private static func little(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (UInt64($0) * 8)) }
    }

    /// Returns the CRC-32 that zip uses.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var crc = UInt32.max
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 0 ? crc >> 1 : crc >> 1 ^ 0xEDB8_8320 }
        }
        return ~crc
    }
}
