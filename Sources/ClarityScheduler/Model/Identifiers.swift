/// A job's name in the job file: 1 to 100 letters, digits, `.`, `-` or `_`, starting with a letter
/// or digit.
public struct JobID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// Creates an id; returns `nil` if `text` breaks the rule above.
    public init?(_ text: String) {
        let allowed = text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
            default: false
            }
        }
        guard allowed, (1...100).contains(text.utf8.count), let first = text.first,
            first.isLetter || first.isNumber
        else { return nil }
        rawValue = text
    }

    public var description: String { rawValue }

    public static func < (a: JobID, b: JobID) -> Bool { a.rawValue < b.rawValue }
}

/// What a job does: the name of a worker, such as `bulk-upload`.
public struct JobKind: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Runs any program as the attempt itself; for every other kind this program has a worker.
    public static let command = JobKind("command")

    public let rawValue: String

    /// Creates a kind from its name.
    public init(_ name: String) { rawValue = name }

    public var description: String { rawValue }

    public static func < (a: JobKind, b: JobKind) -> Bool { a.rawValue < b.rawValue }
}

/// A run's number: it starts at 1 in each store, rises, and is never reused.
public struct RunID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: Int64

    /// Creates a run's number.
    public init(_ number: Int64) { rawValue = number }

    public var description: String { String(rawValue) }

    public static func < (a: RunID, b: RunID) -> Bool { a.rawValue < b.rawValue }
}
