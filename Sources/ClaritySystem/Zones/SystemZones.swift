@preconcurrency import Glibc
public import ClarityScheduler

/// The time zones installed on this machine, as TZif files in a folder.
public struct SystemZones: ZoneSource {
    /// The largest accepted size of a zone's file: 64 KiB. The largest file of tzdata has under 4
    /// KiB.
    public static let largestFileBytes = 64 << 10

    private let directory: String

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

    private static func isName(_ identifier: String) -> Bool {
        identifier.utf8.count <= 100
            && identifier.split(separator: "/", omittingEmptySubsequences: false).allSatisfy {
                !$0.isEmpty
                    && $0.utf8.allSatisfy { byte in
                        switch byte {
                        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                        case UInt8(ascii: "_"), UInt8(ascii: "+"), UInt8(ascii: "-"): true
                        default: false
                        }
                    }
            }
    }
}

/// Returns the bytes of a regular file; `nil` if it does not exist, cannot be read, or is too
/// large.
///
/// If the path is a named pipe, the function does not wait for it.
func readRegularFile(_ path: String, atMost limit: Int) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 8192)
    while true {
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { return nil }
        if count == 0 { return bytes }
        bytes += buffer[..<count]
        guard bytes.count <= limit else { return nil }
    }
}
