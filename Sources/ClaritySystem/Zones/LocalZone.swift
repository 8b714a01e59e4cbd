@preconcurrency import Glibc

/// Finds the name of the machine's local time zone.
public enum LocalZone {
    /// Returns the zone's name.
    ///
    /// The first of these that exists gives the name: `TZ` in the environment, the target of the
    /// link `localtime`, the file `timezone` beside it. Without them the zone is `UTC`.
    ///
    /// The name is not checked. `TZ` may contain a rule (`CET-1CEST,M3.5.0,M10.5.0/3`) instead of a
    /// name. It is returned unchanged, so that looking it up fails instead of silently using
    /// another zone. An empty `TZ` means UTC, as in tzset(3).
    public static func identifier(
        environment: [String: String], configuration: String = "/etc"
    ) -> String {
        if var name = environment["TZ"] {
            if name.hasPrefix(":") { name.removeFirst() }
            if name.isEmpty { return "UTC" }
            return nameAfterZoneinfo(name) ?? name
        }
        if let target = linkTarget("\(configuration)/localtime") {
            if let name = nameAfterZoneinfo(target) { return name }
        }
        // Debian writes the name here, for systems where `localtime` is a copy of the zone's file.
        if let bytes = readRegularFile("\(configuration)/timezone", atMost: 1024) {
            let line = String(decoding: bytes, as: UTF8.self).prefix { !$0.isWhitespace }
            if !line.isEmpty { return String(line) }
        }
        return "UTC"
    }

    /// Returns `Europe/Berlin` for `/usr/share/zoneinfo/Europe/Berlin`.
    private static func nameAfterZoneinfo(_ path: String) -> String? {
        let folder = "/zoneinfo/".utf8
        var rest = path.utf8[...]
        while let slash = rest.firstIndex(of: UInt8(ascii: "/")) {
            rest = rest[slash...]
            if rest.starts(with: folder) {
                let name = rest.dropFirst(folder.count)
                return name.isEmpty ? nil : String(name)
            }
            rest = rest.dropFirst()
        }
        return nil
    }

    private static func linkTarget(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink(path, &buffer, buffer.count)
        guard count > 0, count < buffer.count else { return nil }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
