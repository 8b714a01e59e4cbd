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
