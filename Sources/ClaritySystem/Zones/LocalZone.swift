@preconcurrency import Glibc

/// Finds the name of the zone that this machine's clock on the wall follows.
public enum LocalZone {
    /// The zone's name: from `TZ` in the environment; else from where the link `localtime` leads;
    /// else, where that is a file and no link, from `timezone` beside it; else `UTC`.
    ///
    /// The name is not checked. `TZ` may hold a rule (`CET-1CEST,M3.5.0,M10.5.0/3`), which names no
    /// zone: it is returned as it is, so that what looks it up fails with it and does not run on
    /// another clock in silence. An empty `TZ` means UTC, as tzset(3) has it.
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
        // Debian's copy of the name, for systems on which `localtime` is a copy of the file.
        if let bytes = readRegularFile("\(configuration)/timezone", atMost: 1024) {
            let line = String(decoding: bytes, as: UTF8.self).prefix { !$0.isWhitespace }
            if !line.isEmpty { return String(line) }
        }
        return "UTC"
    }

    /// `Europe/Berlin` of `/usr/share/zoneinfo/Europe/Berlin`.
    private static func nameAfterZoneinfo(_ path: String) -> String? {
        guard let range = path.firstRange(of: "/zoneinfo/") else { return nil }
        let name = path[range.upperBound...]
        return name.isEmpty ? nil : String(name)
    }

    private static func linkTarget(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink(path, &buffer, buffer.count)
        guard count > 0, count < buffer.count else { return nil }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
