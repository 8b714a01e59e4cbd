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
        let form = ValueSchema<[String: String]>.section(section)
        return Key(
            description: KeyDescription(
                name: section.key, form: form.description, isRequired: isRequired,
                summary: "settings of the jobs' work"),
            store: { node, place, draft, decoding in
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
