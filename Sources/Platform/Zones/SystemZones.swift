public import ClarityScheduler
@preconcurrency import Glibc

/// The time zones installed on this machine, as TZif files in a folder.
public struct SystemZones: ZoneSource {
    /// The largest accepted size of a zone's file: 64 KiB. The largest file of tzdata has under 4
    /// KiB.
    public static let largestFileBytes = 64 << 10

    /// The folder of the zones' files.
    public let directory: String

    /// Creates a source for a folder: `$TZDIR` if it is an absolute path, else
    /// `/usr/share/zoneinfo`.
    public init(environment: [String: String]) {
        directory =
            environment["TZDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/usr/share/zoneinfo"
    }

    /// Returns the zone's file; `nil` if it does not exist or is not a TZif file.
    ///
    /// Names that could lead out of the folder also give `nil`: the components of a name consist of
    /// letters, digits, `_`, `+` and `-`.
    public func tzif(for identifier: String) -> [UInt8]? {
        guard Self.isName(identifier) else { return nil }
        guard
            let bytes = readRegularFile(
                "\(directory)/\(identifier)", atMost: Self.largestFileBytes),
            bytes.starts(with: Array("TZif".utf8))
        else { return nil }
        return bytes
    }

    /// Returns the zone with a name; `nil` if it is not installed or its file is invalid.
    ///
    /// `UTC` always exists.
    public func zone(named identifier: String) -> Zone? {
        guard identifier != "UTC" else { return .utc }
        guard let bytes = tzif(for: identifier) else { return nil }
        do throws(ZoneError) {
            return try Zone(identifier: identifier, tzif: bytes)
        } catch {
            return nil
        }
    }

    /// Returns the name of the zone whose file has these bytes; `nil` for none.
    ///
    /// Reads the whole folder. Of several names, takes `UTC`, else one that the tz database gives to
    /// a place (zone1970.tab), else the first one.
    func name(ofFile bytes: [UInt8]) -> String? {
        // Other forms of the same zones, and names for what an administrator has chosen.
        let ignored: Set = ["posix", "right", "posixrules", "localtime"]
        var names: [String] = []
        var folders = [""]
        while let folder = folders.popLast() {
            for entry in WholeFile.readableNames(in: "\(directory)/\(folder)") ?? [] {
                let name = folder + entry
                var status = stat()
                guard SystemZones.isName(name), !ignored.contains(name),
                    stat("\(directory)/\(name)", &status) == 0
                else { continue }
                if status.st_mode & S_IFMT == S_IFDIR {
                    folders.append("\(name)/")
                } else if status.st_size == bytes.count, tzif(for: name) == bytes {
                    names.append(name)
                }
            }
        }
        let places = Set(placeNames)
        return names.contains("UTC")
            ? "UTC" : names.filter(places.contains).min() ?? names.min()
    }

    /// The names in zone1970.tab, in its third column.
    private var placeNames: [String] {
        let bytes = readRegularFile("\(directory)/zone1970.tab", atMost: 1 << 20) ?? []
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { line in
            let columns = line.split(separator: "\t")
            return columns.count > 2 && !line.hasPrefix("#") ? String(columns[2]) : nil
        }
    }

    private static func isName(_ identifier: String) -> Bool {
        identifier.utf8.count <= 100
            && identifier.split(separator: "/", omittingEmptySubsequences: false).allSatisfy {
                !$0.isEmpty && $0.utf8.areLettersDigits(or: "_+-")
            }
    }
}

/// Returns the bytes of a regular file; `nil` if it does not exist, cannot be read, or is too
/// large.
///
/// If the path is a named pipe, the function does not wait for it.
package func readRegularFile(_ path: String, atMost limit: Int) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    do throws(WholeFile.Fault) {
        return try WholeFile.bytes(from: descriptor, atMost: limit)
    } catch {
        return nil
    }
}

/// Finds the name of the machine's local time zone.
public enum LocalZone {
    /// Returns the zone's name.
    ///
    /// The first of these that exists gives the name: `TZ` in the environment, `localtime`, the file
    /// `timezone` beside it. Without them the zone is `UTC`.
    ///
    /// `localtime` is a link into a folder of zones. Or it is a copy of a zone's file, as where it is
    /// mounted into a container: then the name is that of the installed zone with the same bytes,
    /// and the one in `timezone` if that is one of several. To find it reads all zones.
    ///
    /// The name is not checked. `TZ` may contain a rule (`CET-1CEST,M3.5.0,M10.5.0/3`) instead of a
    /// name. It is returned unchanged, and a copy that equals no zone as its path, so that looking it
    /// up fails instead of silently using another zone. An empty `TZ` means UTC, as in tzset(3).
    public static func identifier(
        environment: [String: String], configuration: String = "/etc"
    ) -> String {
        if var name = environment["TZ"] {
            if name.hasPrefix(":") { name.removeFirst() }
            if name.isEmpty { return "UTC" }
            return nameAfterZoneinfo(name) ?? name
        }
        let path = "\(configuration)/localtime"
        if let name = linkTarget(path).flatMap(nameAfterZoneinfo) { return name }
        // Debian writes the name here, for systems where `localtime` is a copy of the zone's file.
        let line = readRegularFile("\(configuration)/timezone", atMost: 1024).map {
            String(decoding: $0, as: UTF8.self).prefix { !$0.isWhitespace }
        }
        let named = line.flatMap { $0.isEmpty ? nil : String($0) }
        var status = stat()
        guard lstat(path, &status) == 0 else { return named ?? "UTC" }
        guard let bytes = readRegularFile(path, atMost: SystemZones.largestFileBytes) else {
            return path
        }
        let zones = SystemZones(environment: environment)
        if let named, zones.tzif(for: named) == bytes { return named }
        return zones.name(ofFile: bytes) ?? path
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
}
