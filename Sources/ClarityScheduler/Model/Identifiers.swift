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

/// The name of an event that a job may wait for with `on:`.
///
/// The engine has four events of its own; workers emit the others with `AttemptReport.happened`. A
/// name is 1 to 64 lowercase letters, digits and `-`.
public struct EventName: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: String

    /// Creates a name; returns `nil` if `text` breaks the rule above.
    public init?(rawValue text: String) {
        guard EventName.isName(text) else { return nil }
        rawValue = text
    }

    /// Creates a name from a literal; traps if the literal breaks the rule above.
    public init(_ name: StaticString) {
        rawValue = "\(name)"
        precondition(EventName.isName(rawValue), "an event's name, got `\(rawValue)`")
    }

    /// A source has something new, such as a replaced file or a new file in a folder.
    public static let sourceChanged = EventName("source-changed")
    /// The network is back after an outage.
    public static let networkRestored = EventName("network-restored")
    /// The machine has started since a scheduler last ran on this store.
    public static let boot = EventName("boot")
    /// The wall clock was set.
    public static let clockChanged = EventName("clock-changed")

    /// The events that the engine itself notices.
    public static let ofTheEngine = [sourceChanged, networkRestored, boot, clockChanged]

    public static func < (a: EventName, b: EventName) -> Bool { a.rawValue < b.rawValue }

    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x61...0x7A, UInt8(ascii: "-"): true
                default: false
                }
            }
    }
}
