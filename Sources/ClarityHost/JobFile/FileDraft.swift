import ClarityScheduler
import ClaritySystem

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
                "version of the file format"),
            Key(
                "store", { swap(&$0.store, &$1) }, .mapping(StoreDraft.shape),
                "where the state is kept, and how much of the history"),
            Key(
                "defaults", { swap(&$0.defaults, &$1) }, .mapping(DefaultsDraft.shape),
                "defaults of all jobs; a job's own key wins"),
            Key(
                "conditions", { swap(&$0.conditions, &$1) }, .mapping(ConditionsDraft.shape),
                "how to measure this machine's conditions"),
            Key(
                "checks", { swap(&$0.checks, &$1) }, .checks,
                "commands and URLs that jobs can require, by name"),
            Key(
                "jobs", { swap(&$0.jobs, &$1) }, .list(of: JobDraft.form(catalogue)),
                isRequired: true, "the jobs; `list` shows them in this order"),
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
                summary: section.summary),
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
                "state directory; without it `~/.local/state/clarity-jobs`"),
            Key(
                "history", { swap(&$0.history, &$1) }, .mapping(HistoryDraft.shape),
                "how much of the history is kept"),
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
                "keep_runs", { swap(&$0.runs, &$1) }, .integer(1...1_000_000), standard: "1000",
                "finished runs to keep for each job, and ten times as many failed ones"),
            Key(
                "keep_for", { swap(&$0.age, &$1) }, .duration(spans), standard: "90d",
                "how long to keep a run after its end"),
            Key(
                "keep_failures_for", { swap(&$0.failureAge, &$1) }, .duration(spans),
                standard: "365d", "how long to keep a failed run after its end"),
            Key(
                "max_size", { swap(&$0.bytes, &$1) }, .size((1 << 20)...(1 << 40)),
                standard: "256MiB",
                "maximum size of the history; the oldest runs are deleted first"),
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
                "max_parallel", { swap(&$0.maxParallel, &$1) }, .integer(1...64), standard: "2",
                "maximum number of attempts at the same time"),
            Key(
                "time_zone", { swap(&$0.timeZone, &$1) }, .timeZone,
                "time zone of `cron`, `calendar` and `window`; without it the machine's"),
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
