/// The pseudonym of one wearer: 1 to 64 lowercase letters, digits, `_` and `-`, not `-` first, because
/// a command would take it for an option.
///
/// It names files and appears in the history, so it must not be a person's name or address.
public struct AccountID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The rule above, for messages.
    public static let rule =
        "an id is 1 to 64 lowercase letters, digits, `_` or `-`, and does not begin with `-`"

    public let rawValue: String

    /// Creates an id; returns `nil` if `text` breaks the rule above.
    public init?(_ text: some StringProtocol) {
        guard (1...64).contains(text.utf8.count), text.utf8.first != UInt8(ascii: "-"),
            text.utf8.allSatisfy(AccountID.allows)
        else { return nil }
        rawValue = String(text)
    }

    public var description: String { rawValue }

    public static func < (a: AccountID, b: AccountID) -> Bool { a.rawValue < b.rawValue }

    private static func allows(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }
}

/// A job's name: the one that the job file declares, and for a job that runs once for each account,
/// the account before it, as in `anna/upload`.
public struct JobID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// Creates the id of a job that the job file declares: 1 to 100 letters, digits, `.`, `-` or
    /// `_`, starting with a letter or digit. Returns `nil` if `text` breaks this rule.
    public init?(declared text: some StringProtocol) {
        guard JobID.isName(text) else { return nil }
        rawValue = String(text)
    }

    /// Creates an id from its text, with or without an account; returns `nil` if a part of it
    /// breaks its rule.
    public init?(_ text: String) {
        if let slash = text.utf8.firstIndex(of: JobID.separator) {
            guard AccountID(text[..<slash]) != nil,
                JobID.isName(text[text.utf8.index(after: slash)...])
            else { return nil }
        } else {
            guard JobID.isName(text) else { return nil }
        }
        rawValue = text
    }

    /// Creates the id of an account's job; `job` has no account.
    public init(_ account: AccountID?, _ job: JobID) {
        guard let account else {
            self = job
            return
        }
        rawValue = "\(account.rawValue)/\(job.rawValue)"
    }

    /// The account whose job this is; `nil` if the job file has no accounts.
    public var account: AccountID? {
        rawValue.utf8.firstIndex(of: JobID.separator).flatMap { AccountID(rawValue[..<$0]) }
    }

    /// The id without the account, as the job file declares it.
    public var declared: JobID {
        guard let slash = rawValue.utf8.firstIndex(of: JobID.separator) else { return self }
        return JobID(unchecked: String(rawValue[rawValue.utf8.index(after: slash)...]))
    }

    public var description: String { rawValue }

    public static func < (a: JobID, b: JobID) -> Bool { a.rawValue < b.rawValue }

    private static let separator = UInt8(ascii: "/")

    private init(unchecked text: String) { rawValue = text }

    private static func isName(_ text: some StringProtocol) -> Bool {
        guard (1...100).contains(text.utf8.count), let first = text.utf8.first,
            first.isLetterOrDigit
        else { return false }
        return text.utf8.areLettersDigits(or: "._-")
    }
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

extension UInt8 {
    /// Whether the byte is a letter or a digit of ASCII.
    package var isLetterOrDigit: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}

extension Sequence<UInt8> {
    /// Whether each byte is a letter or a digit of ASCII, or one of `others`.
    package func areLettersDigits(or others: StaticString) -> Bool {
        others.withUTF8Buffer { others in
            allSatisfy { $0.isLetterOrDigit || others.contains($0) }
        }
    }
}
