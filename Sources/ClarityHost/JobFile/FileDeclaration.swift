import ClarityScheduler
import Platform
import Database

/// A whole job file as written.
struct FileDeclaration: Sendable {
    var store = StoreSettings()
    var defaults: Field<DefaultsDeclaration>?
    var metricsTextfile: String?
    var conditions = ConditionSettings()
    var labels: [Field<String>] = []
    var checks: Field<[NamedField<String, DeclaredCheck>]>?
    var groups: Field<[NamedField<String, GroupDeclaration>]>?
    var jobs: Field<[Field<JobDeclaration.Listed>]>?
    var accounts: Field<DeclaredAccounts>?
    var sections = SectionValues()

    /// Returns the schema of job files with the kinds and sections of `catalogue`.
    static func schema(_ catalogue: JobCatalogue) -> MappingSchema<FileDeclaration> {
        var empty = FileDeclaration()
        for section in catalogue.sections {
            // A section with a required option is there only if it is written.
            guard case .mapping(let options) = section.content,
                !options.contains(where: \.isRequired)
            else { continue }
            empty.sections[section.key] = .mapping(OptionsDeclaration.schema(options).empty.values)
        }
        let sections = catalogue.sections.map { section in
            Key<FileDeclaration>(
                section.key, set: { $0.sections[section.key] = $1 }, .section(section),
                section.summary)
        }
        let own: [Key<FileDeclaration>] = [
            Key(
                "version", set: { _, _ in }, .version, isRequired: true,
                "version of the file format"),
            Key(
                "store", set: { $0.store = $1 }, .mapping(StoreSettings.schema),
                "where the state is kept, and how much of the history"),
            Key(
                "defaults", { swap(&$0.defaults, &$1) }, .mapping(DefaultsDeclaration.schema),
                "defaults of all jobs; a job's own key wins"),
            Key(
                "metrics_textfile", set: { $0.metricsTextfile = $1 }, .metricsFile,
                "where to write metrics for the node exporter; the name ends in `.prom`"),
            Key(
                "conditions", set: { $0.conditions = $1 }, .mapping(ConditionSettings.schema),
                "how to measure this machine's conditions"),
            Key(
                "labels", set: { $0.labels = $1 }, .list(of: .machineName),
                "names for this machine besides its host name, to which `machine` of a job refers"),
            Key(
                "checks", { swap(&$0.checks, &$1) }, .checks,
                "commands and URLs that jobs can require, by name"),
            Key(
                "groups", { swap(&$0.groups, &$1) }, .groups,
                "limits that jobs share, by name; for the jobs of all accounts together"),
            Key(
                "jobs", { swap(&$0.jobs, &$1) }, .list(of: JobDeclaration.listed(catalogue)),
                isRequired: true, "the jobs; `list` shows them in this order"),
            Key(
                "accounts", { swap(&$0.accounts, &$1) }, .accounts(catalogue),
                "the wearers for whom the jobs run: a list, or a folder with a file for each"),
        ]
        return MappingSchema(empty, own + sections)
    }
}

/// `store:`.
struct StoreSettings: Sendable {
    var directory: String?
    var server: ServerAddress?
    var retention = RetentionPolicy()

    static let schema = MappingSchema(
        StoreSettings(),
        [
            Key(
                "directory", set: { $0.directory = $1 }, .path,
                "state directory; without it `~/.local/state/clarity-jobs`"),
            Key(
                "url", set: { $0.server = $1 }, .serverAddress,
                "PostgreSQL database for the history and the health data; without it files in the "
                    + "state directory"),
            Key(
                "history", set: { $0.retention = $1 }, .mapping(historySchema),
                "how much of the history is kept"),
        ])
}

private let historySchema = MappingSchema(
    defaultRetention,
    [
        Key(
            "keep_runs", set: { $0.runs = $1 }, .integer(1...1_000_000),
            default: "\(defaultRetention.runs)",
            "finished runs to keep for each job, and ten times as many failed ones"),
        Key(
            "keep_for", set: { $0.age = $1 }, .duration(retentionSpans),
            default: spanText(defaultRetention.age), "how long to keep a run after its end"),
        Key(
            "keep_failures_for", set: { $0.failureAge = $1 }, .duration(retentionSpans),
            default: spanText(defaultRetention.failureAge),
            "how long to keep a failed run after its end"),
        Key(
            "max_size", set: { $0.bytes = $1 }, .size((1 << 20)...(1 << 40)),
            default: sizeText(defaultRetention.bytes),
            "maximum size of the history; the oldest runs are deleted first"),
    ])

private let defaultRetention = RetentionPolicy()
private let retentionSpans: ClosedRange<Duration> = .seconds(3600) ... .seconds(3660 * 86_400)

/// `defaults:` as written in the file.
struct DefaultsDeclaration: Sendable {
    var maxParallel: Int?
    var maxParallelTotal: Int?
    var timeZone: Field<Zone>?
    var common = CommonDeclaration()

    static let schema = MappingSchema(
        DefaultsDeclaration(),
        [
            Key(
                "max_parallel", set: { $0.maxParallel = $1 }, .integer(1...64), default: "2",
                "maximum number of attempts at the same time on this machine"),
            Key(
                "max_parallel_total", set: { $0.maxParallelTotal = $1 }, .integer(1...4096),
                "maximum number of attempts at the same time on all machines that share a database; "
                    + "without it only each machine's `max_parallel` counts"),
            Key(
                "time_zone", { swap(&$0.timeZone, &$1) }, .timeZone,
                "time zone of `cron`, `calendar` and `window`; without it the machine's"),
        ] + CommonDeclaration.schema.keys.map { Key($0) { $1(&$0.common) } })
}

extension ValueSchema where Value == Int {
    /// Reads the version of the file format.
    static var version: ValueSchema {
        ValueSchema(.integer(1...1)) { node, path, decoding in
            guard case .scalar("1", isPlain: true) = node.content else {
                return decoding.fault(
                    node.position, "version \(shown(node.text ?? node.noun)) is not supported",
                    help: "this program reads `version: 1`")
            }
            return 1
        }
    }
}

extension ValueSchema where Value == String {
    /// Reads the path of a file that the node exporter's textfile collector reads.
    fileprivate static var metricsFile: ValueSchema {
        ValueSchema(.path) { node, path, decoding in
            guard let file = ValueSchema.path.decode(node, path, &decoding) else { return nil }
            guard file.hasSuffix(".prom") else {
                return decoding.fault(
                    node.position, "\(path.key) \(shown(file)) does not end in `.prom`",
                    help: "the node exporter reads no other files")
            }
            return file
        }
    }
}

/// The options of one kind or section, as workers receive them.
struct OptionsDeclaration: Sendable {
    var values: [String: String] = [:]

    /// Returns the schema for a catalogue's declarations; the declaration starts with their default
    /// values.
    ///
    /// - Parameter allowsPlainHTTP: whether addresses may be http on any machine.
    static func schema(
        _ options: [OptionDeclaration], allowsPlainHTTP: Bool = false
    ) -> MappingSchema<OptionsDeclaration> {
        var defaults = OptionsDeclaration()
        for option in options { defaults.values[option.key] = option.defaultValue }
        return MappingSchema(
            defaults,
            options.map { option in
                Key(
                    option.key, set: { $0.values[option.key] = $1 },
                    allowsPlainHTTP ? .optionWithPlainHTTP(option.type) : .option(option.type),
                    isRequired: option.isRequired,
                    default: option.defaultValue, option.summary)
            })
    }
}

extension ValueSchema where Value == String {
    /// Reads an option of a type; the value is the text that workers receive.
    static func option(_ type: OptionDeclaration.ValueType) -> ValueSchema {
        switch type {
        case .text: .text
        case .line, .secretName: .line
        case .variableName: .variableName
        case .texts:
            ValueSchema<[Field<String>]>.list(of: .line).map { fields in
                fields.compactMap(\.value).joined(separator: "\n")
            }
        // A text of a job file never contains U+0000.
        case .command: ValueSchema<[String]>.command.map { $0.joined(separator: "\u{0}") }
        case .variables: .variables
        case .parameters: .parameters
        case .boolean: ValueSchema<Bool>.boolean.map { "\($0)" }
        case .integer(let range): ValueSchema<Int>.integer(range).map { "\($0)" }
        case .number(let range): ValueSchema<Double>.number(range).map(numberText)
        case .duration(let range):
            ValueSchema<Duration>.duration(range).map { "\($0.milliseconds)" }
        case .size(let range): ValueSchema<Int64>.size(range).map { "\($0)" }
        case .choice(let names): .choice(names.map { ($0, $0) })
        case .words(let names):
            ValueSchema<[Field<String>]>.list(of: .choice(names.map { ($0, $0) })).map { fields in
                fields.compactMap(\.value).joined(separator: "\n")
            }
        case .rate: ValueSchema<Rate>.rate.map(\.optionText)
        case .window: ValueSchema<Window>.window.map(\.description)
        case .timeZone: ValueSchema<Zone>.timeZone.map(\.identifier)
        case .dateOrInstant: .dateOrInstant
        case .path, .source: .path
        case .url: .url
        case .endpoint: .endpoint()
        }
    }
}

extension ValueSchema where Value == String {
    /// Reads an option whose addresses may be http on any machine.
    fileprivate static func optionWithPlainHTTP(_ type: OptionDeclaration.ValueType) -> ValueSchema
    {
        switch type {
        case .url: .webAddress
        case .endpoint: .endpoint(allowsPlainHTTP: true)
        default: .option(type)
        }
    }
}

extension ValueSchema where Value == SectionValues.Content {
    /// Reads a section.
    static func section(_ section: SectionDeclaration) -> ValueSchema {
        switch section.content {
        case .mapping(let options):
            let schema = OptionsDeclaration.schema(options)
            return ValueSchema<OptionsDeclaration>.mapping(schema).map { .mapping($0.values) }
        case .list(let kinds):
            return ValueSchema<[Field<OptionsDeclaration>]>.sectionList(kinds).map { fields in
                .list(fields.map { $0.value?.values ?? [:] })
            }
        }
    }
}

extension ValueSchema where Value == [Field<OptionsDeclaration>] {
    /// Reads a list of mappings that differ by their `kind`, which is one of the values of each.
    static func sectionList(_ kinds: [String: [OptionDeclaration]]) -> ValueSchema {
        let kindKey = OptionDeclaration(
            "kind", .choice(kinds.keys.sorted()), isRequired: true, summary: "kind of the entry")
        let schemas = kinds.mapValues { OptionsDeclaration.schema([kindKey] + $0) }
        let unknownKind = OptionsDeclaration.schema([kindKey])
        let description = ValueDescription.variants(
            by: "kind", schemas.mapValues(\.descriptions))
        let entry = ValueSchema<OptionsDeclaration>(description) { node, path, decoding in
            if let kind = node["kind"]?.text, let schema = schemas[kind] {
                if node[OptionDeclaration.plainHTTP]?.text == "true" {
                    return OptionsDeclaration.schema(
                        [kindKey] + (kinds[kind] ?? []), allowsPlainHTTP: true
                    ).decode(node, in: path, &decoding)
                }
                return schema.decode(node, in: path, &decoding)
            }
            // Without a known kind, only the kind itself can be checked.
            var only = node
            if case .mapping(let entries) = node.content {
                only.content = .mapping(entries.filter { $0.key == "kind" })
            }
            return unknownKind.decode(only, in: path, &decoding)
        }
        let list = ValueSchema.list(of: entry)
        let shared = Set(kinds.values.joined().filter(\.isShared).map(\.key)).sorted()
        return ValueSchema(list.description) { node, path, decoding in
            let fields = list.decode(node, path, &decoding)
            for key in shared { fields?.reportDifference(in: key, path, &decoding) }
            return fields
        }
    }
}

extension [Field<OptionsDeclaration>] {
    /// Reports each entry whose value of `key` differs from that of the first entry that has one.
    fileprivate func reportDifference(
        in key: String, _ path: CodingPath, _ decoding: inout Decoding
    ) {
        var first: (number: Int, value: String)?
        for (index, field) in enumerated() {
            guard let value = field.value?.values[key] else { continue }
            guard let first else {
                first = (index + 1, value)
                continue
            }
            guard value != first.value else { continue }
            decoding.report(
                field.position,
                "\(CodingPath.entry(index + 1, of: path).text) has the `\(key)` \(shown(value)), and "
                    + "entry \(first.number) has \(shown(first.value)); all entries have the same")
        }
    }
}

// What the engine itself finds in the sections of a catalogue.

extension SectionDeclaration {
    /// Returns the mappings of the section, each with the options that it may have.
    private func mappings(
        in sections: SectionValues
    ) -> [(options: [OptionDeclaration], values: [String: String])] {
        switch (content, sections[key]) {
        case (.mapping(let options), .mapping(let values)?): [(options, values)]
        case (.list(let kinds), .list(let entries)?):
            entries.map { (kinds[$0["kind"] ?? ""] ?? [], $0) }
        default: []
        }
    }

    /// Returns the variables of the section that have secrets.
    func secretVariables(in sections: SectionValues) -> [String] {
        mappings(in: sections).flatMap { options, values in
            options.filter { [.variableName, .secretName].contains($0.type) }
                .compactMap { values[$0.key] }
        }
    }
}

extension SectionValues {
    /// Calls `change` with each entry that has a source and the source's key, and notes the paths.
    mutating func noteSources(
        _ catalogue: JobCatalogue,
        changing change: (inout [String: String], _ key: String) -> Void = { _, _ in }
    ) {
        sourcePaths = []
        for section in catalogue.sections {
            guard case .list(let kinds) = section.content,
                case .list(var entries)? = self[section.key]
            else { continue }
            for index in entries.indices {
                let options = kinds[entries[index]["kind"] ?? ""] ?? []
                for option in options where option.type == .source {
                    change(&entries[index], option.key)
                    if let path = entries[index][option.key] { sourcePaths.append(path) }
                }
            }
            self[section.key] = .list(entries)
        }
        sourcePaths.sort()
    }
}
