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
