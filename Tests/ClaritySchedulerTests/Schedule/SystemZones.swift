import ClarityScheduler
import Glibc

/// The machine's tz database, if one is installed.
enum SystemZones {
    static let isInstalled = access("/usr/share/zoneinfo/Europe/London", R_OK) == 0

    static func zone(_ identifier: String) throws -> Zone {
        try Zone(identifier: identifier, tzif: bytes(identifier))
    }

    static func bytes(_ identifier: String) throws -> [UInt8] {
        guard let file = fopen("/usr/share/zoneinfo/\(identifier)", "rb") else {
            throw Missing(identifier: identifier)
        }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = fread(&bytes, 1, bytes.count, file)
        return Array(bytes.prefix(count))
    }

    struct Missing: Error {
        var identifier: String
    }
}
