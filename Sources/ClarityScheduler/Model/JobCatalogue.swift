/// The declaration of one option: enough to validate it, document it and pass it to a worker.
public struct OptionDeclaration: Hashable, Sendable {
    /// The type of an option's value.
    public enum ValueType: Hashable, Sendable {
        case text
        /// A text that is not empty, without line breaks and other control characters.
        case line
        /// The name of an environment variable with a secret, which no program of the file gets.
        case variableName
        /// The name of a variable or credential with a secret, which no program of the file gets.
        case secretName
        /// A list of distinct texts, each a line; passed on with one text on each line.
        case texts
        /// A program with its arguments, as a list of words; passed on with U+0000 between them.
        /// The program is a name without a slash or an absolute path.
        case command
        /// A list of `NAME=VALUE` with distinct names; passed on with U+0000 between them.
        case variables
        /// `Parameters` by their names, each with a default and a pattern.
        case parameters
        case boolean
        case integer(ClosedRange<Int>)
        /// A number that may have a fraction, such as `0.5`; passed on as written.
        case number(ClosedRange<Double>)
        /// A span with its unit, such as `90d`; passed on in milliseconds.
        case duration(ClosedRange<Duration>)
        /// A size with its unit, such as `64KiB`; passed on in bytes.
        case size(ClosedRange<Int64>)
        case choice([String])
        /// A list of distinct words of these; passed on with one word on each line.
        case words([String])
        /// A number of times in a span, such as `1 per 6h`; passed on in milliseconds.
        case rate
        /// A stretch of the day, such as `22:00-06:00`; passed on as written.
        case window
        /// The name of a time zone that this machine knows.
        case timeZone
        /// A date such as `2026-01-31`, or an RFC 3339 instant; passed on as written.
        case dateOrInstant
        /// A file or folder. `~/` is the home folder; other paths may be relative to the job file.
        case path
        /// The file or folder of an entry that jobs read, like `path`. A change of it is an event,
        /// and two accounts may not have the same; `{account}` in it is the account's id.
        case source
        /// An http or https address.
        case url
        /// An http, https, mqtt or mqtts address.
        case endpoint
    }

    /// The keys that the reader of job files adds to an entry with a `source`, as the account has
    /// it: the folder above the account's own part of the path, and the time zone of its days.
    public static let sourceRoot = "beneath"
    public static let sourceZone = "time_zone"
    /// The key of an entry whose addresses may be http on another machine, if it is true.
    public static let plainHTTP = "allow_http"
    /// The keys that say which certificates of a job's own receiver are trusted.
    public static let authorities = "ca_bundle"
    public static let pins = "pins"

    public var key: String
    public var type: ValueType
    /// The default value, as it is passed on.
    public var defaultValue: String?
    public var isRequired: Bool
    /// Whether all list entries that set the option must give it the same value.
    public var isShared: Bool
    /// One line for people.
    public var summary: String

    /// Declares an option; without `defaultValue`, an option that is not required may be absent.
    public init(
        _ key: String, _ type: ValueType, default defaultValue: String? = nil,
        isRequired: Bool = false,
        isShared: Bool = false, summary: String
    ) {
        self.key = key
        self.type = type
        self.defaultValue = defaultValue
        self.isRequired = isRequired
        self.isShared = isShared
        self.summary = summary
    }
}

/// A kind of job that this program can run.
public struct JobKindDeclaration: Sendable {
    public var kind: JobKind
    public var summary: String
    private let declareOptions: @Sendable () -> [OptionDeclaration]
    /// Whether the worker uses `AttemptOrder.conditions`; the scheduler leaves them out for other
    /// kinds and measures nothing for them.
    public var heedsConditions: Bool
    /// The events that attempts of this kind may emit. If an attempt ends without reporting an
    /// outcome, the scheduler assumes that it emitted all of them: its work may already be stored,
    /// and no later attempt would emit them again.
    public var events: Set<EventName>
    /// The option or section key with the address of the worker's server, such as `backend.url`;
    /// `nil` for a kind that needs no network. A job of the kind implies `Constraint.connected`
    /// unless the address is on this machine. If a file lacks the section, its jobs of the kind are
    /// faulty.
    public var addressKey: String?
    /// Whether one job of the kind does all the work, so that a second job is a mistake.
    public var isSingle: Bool
    /// Returns why options that each fit do not fit together; `nil` if they do.
    public var fault: @Sendable (_ values: [String: String]) -> String? = { _ in nil }

    /// Declares a kind.
    ///
    /// - Parameter options: the options that a job of this kind accepts. Asked for only when a job
    ///   file has such a job, because most files have few of the kinds.
    public init(
        _ kind: JobKind, summary: String,
        options: @autoclosure @escaping @Sendable () -> [OptionDeclaration] = [],
        heedsConditions: Bool = false, events: Set<EventName> = [], addressKey: String? = nil,
        isSingle: Bool = false
    ) {
        self.kind = kind
        self.summary = summary
        declareOptions = options
        self.heedsConditions = heedsConditions
        self.events = events
        self.addressKey = addressKey
        self.isSingle = isSingle
    }

    /// The options that a job of this kind accepts.
    public var options: [OptionDeclaration] { declareOptions() }

    /// Returns the variables and credentials with secrets that a job's options name.
    public func secretNames(in values: [String: String]) -> [String] {
        options.filter { $0.type == .secretName }.compactMap { values[$0.key] }
    }
}

/// Everything that a job file may name beyond the engine's own keys.
public struct JobCatalogue: Sendable {
    public var kinds: [JobKindDeclaration]
    public var sections: [SectionDeclaration]
    /// The events that `on:` may name besides `EventName.ofTheEngine`.
    public var events: [EventName]

    /// Creates a catalogue.
    public init(
        kinds: [JobKindDeclaration], sections: [SectionDeclaration],
        events: [EventName] = []
    ) {
        self.kinds = kinds
        self.sections = sections
        self.events = events
    }
}

/// A section of the job file that the engine only validates and passes to workers.
public struct SectionDeclaration: Hashable, Sendable {
    /// Whether the section is one mapping, or a list of mappings distinguished by their `kind`.
    public enum Content: Hashable, Sendable {
        case mapping([OptionDeclaration])
        case list(kinds: [String: [OptionDeclaration]])
    }

    /// The section's key at the top level of the job file.
    public var key: String
    public var content: Content
    /// Whether each account may have its own, in place of the file's.
    public var isOfAccount: Bool
    /// The kind of the job that a file with the section has without declaring it: every 15 minutes,
    /// and after each job that fails.
    public var impliedJob: JobKind?
    /// One line for people.
    public var summary: String

    /// Declares a section.
    public init(
        _ key: String, _ content: Content, isOfAccount: Bool = false,
        impliesJob impliedJob: JobKind? = nil,
        summary: String = "settings of the jobs' work"
    ) {
        self.key = key
        self.content = content
        self.isOfAccount = isOfAccount
        self.impliedJob = impliedJob
        self.summary = summary
    }
}

/// The keys of a section that is one mapping, each declared once together with its field.
public protocol SectionOptions: DeclaredOptions {
    /// The section's key in the job file.
    static var sectionKey: String { get }
}

/// An entry of a section that is a list: its `kind` decides which keys it has.
public protocol EntryOptions: Sendable {
    /// The section's key in the job file.
    static var sectionKey: String { get }

    /// What an entry is, for messages.
    static var noun: String { get }

    associatedtype Kind: RawRepresentable<String> & CaseIterable & Sendable

    /// Creates an entry that has its default values.
    init(_ kind: Kind)

    /// Passes each option of the kind and its field to `fields`, in the order for people.
    mutating func declare(in fields: inout OptionFields)
}

extension SectionDeclaration {
    /// Declares the section whose values are `Options`.
    public init<Options: SectionOptions>(
        _ options: Options.Type, isOfAccount: Bool = false, summary: String
    ) {
        self.init(
            Options.sectionKey, .mapping(Options.declarations), isOfAccount: isOfAccount,
            summary: summary)
    }

    /// Declares the section whose entries are `Entry`.
    public init<Entry: EntryOptions>(
        entries: Entry.Type, isOfAccount: Bool = false, impliesJob impliedJob: JobKind? = nil,
        summary: String
    ) {
        var kinds: [String: [OptionDeclaration]] = [:]
        for kind in Entry.Kind.allCases {
            var entry = Entry(kind)
            kinds[kind.rawValue] = OptionFields.declarations { entry.declare(in: &$0) }
        }
        self.init(
            Entry.sectionKey, .list(kinds: kinds), isOfAccount: isOfAccount,
            impliesJob: impliedJob, summary: summary)
    }
}

/// The values of the sections of a job file, as the file has them or an order carries them.
///
/// A worker gets them as text: `backend.url`, `sources.0.path`. Only `options` puts these names
/// together, and only `init(_:)` takes them apart. Everything else reads a section by its type.
public struct SectionValues: Hashable, Sendable {
    /// The values of one section, by key.
    package enum Content: Hashable, Sendable {
        case mapping([String: String])
        case list([[String: String]])
    }

    private var contents: [String: Content] = [:]
    /// The values of all options of the type `source`, sorted; empty for those of an order.
    public package(set) var sourcePaths: [String] = []

    /// Creates the values of no section.
    public init() {}

    /// Reads the sections that an order carries; a name without a period is an option of its job.
    public init(_ options: [String: String]) {
        var lists: [String: [Int: [String: String]]] = [:]
        for (name, value) in options {
            let parts = name.split(
                separator: ".", maxSplits: 2, omittingEmptySubsequences: false
            ).map(String.init)
            if parts.count == 3, let index = Int(parts[1]) {
                lists[parts[0], default: [:]][index, default: [:]][parts[2]] = value
            } else if parts.count == 2, case .mapping(var values) = self[parts[0]] ?? .mapping([:])
            {
                values[parts[1]] = value
                self[parts[0]] = .mapping(values)
            }
        }
        for (key, entries) in lists {
            self[key] = .list(entries.sorted { $0.key < $1.key }.map(\.value))
        }
    }

    /// The values as an order carries them.
    public var options: [String: String] {
        var options: [String: String] = [:]
        for (section, content) in contents {
            switch content {
            case .mapping(let values):
                for (key, value) in values { options["\(section).\(key)"] = value }
            case .list(let entries):
                for (index, values) in entries.enumerated() {
                    for (key, value) in values { options["\(section).\(index).\(key)"] = value }
                }
            }
        }
        return options
    }

    /// The values of a section; `nil` if it has none.
    package subscript(section: String) -> Content? {
        get { contents[section] }
        set {
            contents[section] =
                switch newValue {
                case .mapping([:]), .list([]), nil: nil
                case .mapping, .list: newValue
                }
        }
    }

    /// Replaces each section that `other` has, and with them the paths of sources.
    package mutating func merge(_ other: SectionValues) {
        contents.merge(other.contents) { _, new in new }
        if !other.sourcePaths.isEmpty { sourcePaths = other.sourcePaths }
    }
}

extension SectionValues {
    /// Returns the values of a section that is one mapping; `nil` if it has none.
    ///
    /// - Throws: `Failure` for a value that does not fit its declaration, which only an order has.
    public func read<Options: SectionOptions>(
        _: Options.Type = Options.self
    ) throws(Failure) -> Options? {
        guard case .mapping(let values)? = contents[Options.sectionKey] else { return nil }
        return try Options(values, prefix: "\(Options.sectionKey).")
    }

    /// Returns the entries of a section that is a list, in order.
    ///
    /// - Throws: `Failure` for a value that does not fit its declaration, which only an order has.
    public func read<Entry: EntryOptions>(
        entries: Entry.Type = Entry.self
    ) throws(Failure) -> [Entry] {
        guard case .list(let list)? = contents[Entry.sectionKey] else { return [] }
        var entries: [Entry] = []
        for values in list {
            let prefix = "\(Entry.sectionKey).\(entries.count)."
            guard let name = values["kind"] else { break }
            guard let kind = Entry.Kind(rawValue: name) else {
                throw Failure(
                    .configuration, "there is no \(Entry.noun) of the kind `\(name)`")
            }
            var entry = Entry(kind)
            try OptionFields.read(values, prefix: prefix) { entry.declare(in: &$0) }
            entries.append(entry)
        }
        return entries
    }

    /// Replaces the values of a section that is one mapping.
    public mutating func set<Options: SectionOptions>(_ options: Options) {
        self[Options.sectionKey] = .mapping(options.texts)
    }
}
