import CLinux

/// The version of this package's programs, which they show to users and to the backend.
///
/// It is also stored with files that were read, because another version may read the same file
/// differently.
public let programVersion = "0.1.0"

/// The commit of which this program was built; `nil` if it is no release, or not known.
///
/// A release has it as the identifier of the linker, followed by `jobs` (`scripts/static`).
public var programCommit: String? {
    var bytes = [UInt8](repeating: 0, count: 24)
    guard clinux_build_id(&bytes, 24) == 24, bytes.suffix(4).elementsEqual("jobs".utf8) else {
        return nil
    }
    return bytes.prefix(20).map { byte in
        let text = String(byte, radix: 16)
        return text.count == 1 ? "0\(text)" : text
    }.joined()
}

/// A shared library that this program has loaded, as the library itself says.
public struct LibraryVersion: Hashable, Sendable {
    public var name: String
    /// Its version, and those of the libraries that it uses if it names them.
    public var version: String

    public init(name: String, version: String) {
        self.name = name
        self.version = version
    }

    /// The functions by which libraries tell their versions.
    private static let functions = [
        ("SQLite", "sqlite3_libversion"), ("libsodium", "sodium_version_string"),
        ("libyaml", "yaml_get_version_string"), ("libcurl", "curl_version"),
        ("libarchive", "archive_version_details"), ("libmicrohttpd", "MHD_get_version"),
    ]

    /// Returns the libraries of this program.
    public static func loaded() -> [LibraryVersion] {
        functions.compactMap { name, function in
            guard let text = clinux_library_text(function).map({ String(cString: $0) }) else {
                return nil
            }
            // Some begin with their name.
            let isNamed = text.hasPrefix("\(name)/") || text.hasPrefix("\(name) ")
            return LibraryVersion(
                name: name, version: isNamed ? String(text.dropFirst(name.count + 1)) : text)
        }
    }
}
