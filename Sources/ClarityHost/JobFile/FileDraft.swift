import ClarityScheduler

/// A whole job file as written.
struct FileDraft: Sendable {
    var version: Field<Int>?
    var store: Field<StoreDraft>?
    var defaults: Field<DefaultsDraft>?
    var conditions: Field<ConditionsDraft>?
    var checks: Field<[NamedField<String, CheckDraft>]>?
    var jobs: Field<[Field<JobDraft.Listed>]>?
    /// The sections of the catalogue, flattened.
    var settings: [String: String] = [:]

    /// Returns the schema of job files with the kinds and sections of `catalogue`.
    ///
    /// - Parameter needsSections: whether required sections must be present.
    static func shape(
        _ catalogue: JobCatalogue, needsSections: Bool = true
    ) -> MappingSchema<FileDraft> {
        var empty = FileDraft()
        for section in catalogue.sections {
            guard case .mapping(let options) = section.form else { continue }
            for option in options {
                empty.settings["\(section.key).\(option.key)"] = option.standard
            }
        }
        let sections = catalogue.sections.map { section in
            key(for: section, isRequired: section.isRequired && needsSections)
        }
        let own: [Key<FileDraft>] = [
            Key(
                "version", { swap(&$0.version, &$1) }, .version, isRequired: true,
                "the form of the file: 1"),
            Key(
                "store", { swap(&$0.store, &$1) }, .mapping(StoreDraft.shape),
                "where the history is kept"),
            Key(
                "defaults", { swap(&$0.defaults, &$1) }, .mapping(DefaultsDraft.shape),
                "what holds for every job that does not say otherwise"),
            Key(
                "conditions", { swap(&$0.conditions, &$1) }, .mapping(ConditionsDraft.shape),
                "how this machine's conditions are found out"),
            Key(
                "checks", { swap(&$0.checks, &$1) }, .checks,
                "questions on which jobs may depend"),
            Key(
                "jobs", { swap(&$0.jobs, &$1) }, .list(of: JobDraft.form(catalogue)),
                isRequired: true,
                "the jobs, in the order in which they are listed and preferred"),
        ]
        return MappingSchema(empty, own + sections)
    }

    private static func key(
        for section: SectionDeclaration, isRequired: Bool
    ) -> Key<FileDraft> {
        Key(
            section.key, isRequired: isRequired,
            describe: {
                KeyDescription(
                    name: section.key, form: ValueSchema.section(section).description,
                    isRequired: isRequired, summary: "settings of the jobs' work")
            },
            store: { node, place, draft, decoding in
                let form = ValueSchema<[String: String]>.section(section)
                guard let values = form.decode(node, place, &decoding) else { return }
                draft.settings.merge(values) { _, new in new }
            })
    }
}

/// `store:` as written in the file.
struct StoreDraft: Sendable {
    var directory: Field<String>?
    var history: Field<HistoryDraft>?

    static let shape = MappingSchema(
        StoreDraft(),
        [
            Key(
                "directory", { swap(&$0.directory, &$1) }, .path,
                "the folder of the history and the health data"),
            Key(
                "history", { swap(&$0.history, &$1) }, .mapping(HistoryDraft.shape),
                "how much of the past is kept"),
        ])
}

/// `history:` of `store:` as written in the file.
struct HistoryDraft: Sendable {
    var runs: Field<Int>?
    var age: Field<Duration>?
    var failureAge: Field<Duration>?
    var bytes: Field<Int64>?

    static let shape = MappingSchema(
        HistoryDraft(),
        [
            Key(
                "keep_runs", { swap(&$0.runs, &$1) }, .integer(1...1_000_000),
                "the finished runs kept of each job; of failed ones ten times as many"),
            Key(
                "keep_for", { swap(&$0.age, &$1) }, .duration(spans),
                "how long a run is kept after its end"),
            Key(
                "keep_failures_for", { swap(&$0.failureAge, &$1) }, .duration(spans),
                "how long a run that failed is kept after its end"),
            Key(
                "max_size", { swap(&$0.bytes, &$1) }, .size((1 << 20)...(1 << 40)),
                "the most that the history may take; the oldest goes first"),
        ])

    private static let spans: ClosedRange<Duration> = .seconds(3600) ... .seconds(3660 * 86_400)

    var policy: RetentionPolicy {
        let standard = RetentionPolicy()
        return RetentionPolicy(
            runs: runs?.value ?? standard.runs, age: age?.value ?? standard.age,
            failureAge: failureAge?.value ?? standard.failureAge,
            bytes: bytes?.value ?? standard.bytes)
    }
}

/// `defaults:` as written in the file.
struct DefaultsDraft: Sendable {
    var maxParallel: Field<Int>?
    var timeZone: Field<Zone>?
    var common = CommonDraft()

    static let shape = MappingSchema(
        DefaultsDraft(),
        [
            Key(
                "max_parallel", { swap(&$0.maxParallel, &$1) }, .integer(1...64),
                "the most attempts that run at the same time"),
            Key(
                "time_zone", { swap(&$0.timeZone, &$1) }, .timeZone,
                "the zone of cron and calendar schedules and of windows; else the machine's"),
        ] + CommonDraft.shape.keys.map { $0.within { $1(&$0.common) } })
}

extension ValueSchema where Value == Int {
    /// Reads the version of the file format.
    static var version: ValueSchema {
        ValueSchema(.integer(1...1)) { node, place, decoding in
            guard case .scalar("1", isPlain: true) = node.content else {
                decoding.report(
                    node.position, "version \(shown(node.text ?? node.noun)) is not supported",
                    help: "this program reads `version: 1`")
                return nil
            }
            return 1
        }
    }
}

/// The options of one kind or section, in the form in which workers receive them.
struct OptionsDraft: Sendable {
    var values: [String: String] = [:]

    /// Returns the schema for a catalogue's declarations; the draft starts with their default
    /// values.
    static func shape(_ options: [OptionDeclaration]) -> MappingSchema<OptionsDraft> {
        var standards = OptionsDraft()
        for option in options { standards.values[option.key] = option.standard }
        return MappingSchema(standards, options.map { key(for: $0) })
    }

    private static func key(for option: OptionDeclaration) -> Key<OptionsDraft> {
        Key(
            option.key, isRequired: option.isRequired,
            describe: {
                KeyDescription(
                    name: option.key, form: ValueSchema.option(option.form).description,
                    isRequired: option.isRequired,
                    standard: option.standard.map(option.form.written), summary: option.summary)
            },
            store: { node, place, draft, decoding in
                let form = ValueSchema<String>.option(option.form)
                if let value = form.decode(node, place, &decoding) {
                    draft.values[option.key] = value
                }
            })
    }
}

extension ValueSchema where Value == String {
    /// Reads an option of a form; the value is the text that workers receive.
    static func option(_ form: OptionDeclaration.Form) -> ValueSchema {
        switch form {
        case .text: .text
        case .texts:
            ValueSchema<[Field<String>]>.list(of: .line).map { fields in
                fields.compactMap(\.value).joined(separator: "\n")
            }
        // A text of a job file never contains U+0000.
        case .command: ValueSchema<[String]>.command.map { $0.joined(separator: "\u{0}") }
        case .variables: .variables
        case .boolean: ValueSchema<Bool>.boolean.map { "\($0)" }
        case .integer(let range): ValueSchema<Int>.integer(range).map { "\($0)" }
        case .duration(let range):
            ValueSchema<Duration>.duration(range).map { "\($0.milliseconds)" }
        case .size(let range): ValueSchema<Int64>.size(range).map { "\($0)" }
        case .choice(let names): .choice(names.map { ($0, $0) })
        case .timeZone: ValueSchema<Zone>.timeZone.map(\.identifier)
        case .dateOrInstant: .dateOrInstant
        case .path: .path
        case .url: .url
        }
    }
}

extension OptionDeclaration.Form {
    /// Returns a value that is passed on as a job file would say it: `7d`, `64KiB`.
    fileprivate func written(_ value: String) -> String {
        switch self {
        case .duration: Int64(value).map { spanText(.milliseconds($0)) } ?? value
        case .size: Int64(value).map(sizeText) ?? value
        default: value
        }
    }
}

extension ValueSchema where Value == [String: String] {
    /// Reads a section; the value is flattened: `backend.url`, `sources.0.path`.
    static func section(_ section: SectionDeclaration) -> ValueSchema {
        switch section.form {
        case .mapping(let options):
            let shape = OptionsDraft.shape(options)
            return ValueSchema<OptionsDraft>.mapping(shape).map { draft in
                draft.values.prefixingKeys(with: section.key)
            }
        case .list(let kinds):
            return ValueSchema<[Field<OptionsDraft>]>.sectionList(kinds).map { fields in
                var all: [String: String] = [:]
                for (index, field) in fields.enumerated() {
                    let values = field.value?.values ?? [:]
                    all.merge(values.prefixingKeys(with: "\(section.key).\(index)")) { a, _ in a }
                }
                return all
            }
        }
    }
}

extension ValueSchema where Value == [Field<OptionsDraft>] {
    /// Reads a list of mappings that differ by their `kind`, which is one of the values of each.
    static func sectionList(_ kinds: [String: [OptionDeclaration]]) -> ValueSchema {
        let kindKey = OptionDeclaration(
            "kind", .choice(kinds.keys.sorted()), isRequired: true, summary: "what this entry is")
        let shapes = kinds.mapValues { OptionsDraft.shape([kindKey] + $0) }
        let unknownKind = OptionsDraft.shape([kindKey])
        let description = FormDescription.variants(
            by: "kind", shapes.mapValues(\.descriptions))
        let entry = ValueSchema<OptionsDraft>(description) { node, place, decoding in
            if let shape = node["kind"]?.text.flatMap({ shapes[$0] }) {
                return shape.decode(node, in: place, &decoding)
            }
            // Without a known kind, only the kind itself can be checked.
            var only = node
            if case .mapping(let entries) = node.content {
                only.content = .mapping(entries.filter { $0.key == "kind" })
            }
            return unknownKind.decode(only, in: place, &decoding)
        }
        let list = ValueSchema.list(of: entry)
        let shared = Set(kinds.values.joined().filter(\.isShared).map(\.key)).sorted()
        return ValueSchema(list.description) { node, place, decoding in
            let fields = list.decode(node, place, &decoding)
            for key in shared { fields?.reportDifference(in: key, place, &decoding) }
            return fields
        }
    }
}

extension [Field<OptionsDraft>] {
    /// Reports each entry whose value of `key` differs from that of the first entry that has one.
    fileprivate func reportDifference(
        in key: String, _ place: CodingPath, _ decoding: inout Decoding
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
                "\(CodingPath.entry(index + 1, of: place).text) has the `\(key)` \(shown(value)), and "
                    + "entry \(first.number) has \(shown(first.value)); all entries have the same")
        }
    }
}

extension [String: String] {
    fileprivate func prefixingKeys(with prefix: String) -> [String: String] {
        [String: String](uniqueKeysWithValues: map { ("\(prefix).\($0.key)", $0.value) })
    }
}
