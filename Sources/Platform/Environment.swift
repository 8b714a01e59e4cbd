@preconcurrency import Glibc

/// The environment of this process.
public enum Environment {
    /// Returns the value of a variable; `nil` if it is not set.
    public static func value(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// Returns the values of those variables that are set.
    public static func values(_ names: [String]) -> [String: String] {
        names.reduce(into: [:]) { $0[$1] = value($1) }
    }

    /// Returns variables and takes them out of the environment, so that no child process sees them.
    ///
    /// Call it before the process has a second thread.
    public static func take(_ names: [String]) -> [String: String] {
        defer { names.forEach { unsetenv($0) } }
        return values(names)
    }

    /// Returns all variables by name.
    public static func all() -> [String: String] {
        var result: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            if let equals = strchr(entry, Int32(UInt8(ascii: "="))) {
                let name = UnsafeRawBufferPointer(start: entry, count: equals - entry)
                result[String(decoding: name, as: UTF8.self)] = String(cString: equals + 1)
            }
            next += 1
        }
        return result
    }
}
