import ClarityScheduler
import Glibc

/// Every zone of the machine's tz database, links and copies included; equal files count once.
struct InstalledZoneFiles {
    private(set) var zones: [Zone] = []
    /// The number of files, equal ones included.
    private(set) var files = 0
    /// The number of distinct files that `Zone` refused, because they count leap seconds.
    private(set) var refused = 0

    init() throws {
        var seen: Set<[UInt8]> = []
        for name in Self.names(under: "").sorted() {
            let bytes = try SystemZones.bytes(name)
            guard bytes.starts(with: Array("TZif".utf8)) else { continue }
            files += 1
            guard seen.insert(bytes).inserted else { continue }
            do {
                zones.append(try Zone(identifier: name, tzif: bytes))
            } catch {
                refused += 1
            }
        }
    }

    private static func names(under folder: String) -> [String] {
        guard let directory = opendir("/usr/share/zoneinfo/\(folder)") else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard !name.hasPrefix(".") else { continue }
            var status = stat()
            guard stat("/usr/share/zoneinfo/\(folder)\(name)", &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                names += Self.names(under: "\(folder)\(name)/")
            } else {
                names.append("\(folder)\(name)")
            }
        }
        return names
    }
}
