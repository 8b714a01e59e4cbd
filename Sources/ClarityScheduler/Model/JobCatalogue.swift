/// What a job file may say about one option: enough to check it, document it and hand it on.
public struct OptionDeclaration: Hashable, Sendable {
    /// The form of an option's value.
    public enum Form: Hashable, Sendable {
        case text
        /// A list of different texts without line breaks; handed on with one on each line.
        case texts
        /// A program with its arguments, as a list of words; handed on with U+0000 between them,
        /// the program's name without a slash or by its absolute path.
        case command
        /// A list of `NAME=VALUE`, each name once; handed on with U+0000 between them.
        case variables
        case boolean
        case integer(ClosedRange<Int>)
        /// A span with its unit, such as `90d`; handed on in milliseconds.
        case duration(ClosedRange<Duration>)
        /// A size with its unit, such as `64KiB`; handed on in bytes.
        case size(ClosedRange<Int64>)
        case choice([String])
        /// The name of a time zone that this machine knows.
        case timeZone
        /// A date such as `2026-01-31`, or an instant by RFC 3339; handed on as it is written.
        case dateOrInstant
        /// A file or folder; `~/` is the home folder; relative paths count from the job file.
        case path
        /// An http or https address.
        case url
    }

    public var key: String
    public var form: Form
    /// The value when the job file has none, in the form in which it is handed on.
    public var standard: String?
    public var isRequired: Bool
    /// Whether all entries of a list that give it give the same.
    public var isShared: Bool
    /// One line for people.
    public var summary: String

    /// Declares an option; one without `standard` that is not required may be absent.
    public init(
        _ key: String, _ form: Form, standard: String? = nil, isRequired: Bool = false,
        isShared: Bool = false, summary: String
    ) {
        self.key = key
        self.form = form
        self.standard = standard
        self.isRequired = isRequired
        self.isShared = isShared
        self.summary = summary
    }
}

/// A kind of job that this program can run.
public struct JobKindDeclaration: Hashable, Sendable {
    public var kind: JobKind
    public var summary: String
    /// What `options:` of such a job may hold.
    public var options: [OptionDeclaration]
    /// Whether its worker asks what `AttemptOrder.conditions` says; of other kinds nobody measures
    /// anything for it.
    public var heedsConditions: Bool
    /// What its attempts may tell of. When one ends without a word, all of it counts as told: what
    /// was done may be kept already, and nobody would tell of it again.
    public var events: Set<EventName>
    /// The option or section key with the address that its worker talks to, such as
    /// `backend.url`; `nil` for a kind that needs no network. A job of the kind implies
    /// `Constraint.connected` unless the address is on this machine.
    public var addressKey: String?
    /// Whether jobs of the kind read the required sections. A file may leave these sections out when
    /// none of its jobs reads them.
    public var needsSections: Bool
    /// Whether one job of the kind does all the work there is, so that a second job is a mistake.
    public var isSingle: Bool

    /// Declares a kind.
    public init(
        _ kind: JobKind, summary: String, options: [OptionDeclaration] = [],
        heedsConditions: Bool = false, events: Set<EventName> = [], addressKey: String? = nil,
        needsSections: Bool = true, isSingle: Bool = false
    ) {
        self.kind = kind
        self.summary = summary
        self.options = options
        self.heedsConditions = heedsConditions
        self.events = events
        self.addressKey = addressKey
        self.needsSections = needsSections
        self.isSingle = isSingle
    }
}

/// Something that workers may tell of and that a job may wait for with `on:`.
public struct EventDeclaration: Hashable, Sendable {
    public var name: EventName
    /// One line for people.
    public var summary: String

    /// Declares an event.
    public init(_ name: EventName, summary: String) {
        self.name = name
        self.summary = summary
    }
}

/// A section of the job file that the engine only checks and hands to workers.
public struct SectionDeclaration: Hashable, Sendable {
    /// Whether the section is one mapping, or a list of mappings told apart by their `kind`.
    public enum Form: Hashable, Sendable {
        case mapping([OptionDeclaration])
        case list(kinds: [String: [OptionDeclaration]])
    }

    /// The section's key at the top of the job file; its options are handed on as `key.option`, a
    /// list's as `key.0.option` with `key.0.kind`.
    public var key: String
    public var form: Form
    public var isRequired: Bool

    /// Declares a section.
    public init(_ key: String, _ form: Form, isRequired: Bool = false) {
        self.key = key
        self.form = form
        self.isRequired = isRequired
    }
}

/// Everything that a job file may name beyond the engine's own keys.
public struct JobCatalogue: Hashable, Sendable {
    public var kinds: [JobKindDeclaration]
    public var sections: [SectionDeclaration]
    /// What `on:` may name besides `EventName.ofTheEngine`.
    public var events: [EventDeclaration]

    /// Creates a catalogue.
    public init(
        kinds: [JobKindDeclaration], sections: [SectionDeclaration],
        events: [EventDeclaration] = []
    ) {
        self.kinds = kinds
        self.sections = sections
        self.events = events
    }
}
