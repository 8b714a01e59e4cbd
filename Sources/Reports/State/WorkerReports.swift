public import ClarityScheduler
import Platform
public import JSON

// The results of commands that run in the worker.

/// The result of `dry-run` for a job of another kind than `command`.
public struct DryRunResult: Reported {
    let job: JobID
    let shown: [String]
    let requests: Int
    let counts: Tally
    let notes: [String]

    public init(job: JobID, shown: [String], requests: Int, counts: Tally, notes: [String]) {
        (self.job, self.shown, self.requests) = (job, shown, requests)
        (self.counts, self.notes) = (counts, notes)
    }

    public static let report = Report<DryRunResult>([
        Column("job", "id of the job") { $0.job.rawValue },
        Column("shown", "each request or message that would be sent, in words") { $0.shown },
        Column("requests", "number of requests to the backend") { $0.requests },
        Column("counts", "what the run would count") { $0.counts },
        Column("notes", "remarks of the worker") { $0.notes },
    ])
}

/// The result of `doctor --backend`.
public struct BackendResult: Reported {
    /// What was found about one subject.
    public struct Finding: Reported, Sendable {
        public let subject: String
        public let text: String
        /// Whether jobs work in spite of it.
        public let isGood: Bool

        public init(subject: String, text: String, isGood: Bool = true) {
            (self.subject, self.text, self.isGood) = (subject, text, isGood)
        }

        public static let report = Report<Finding>([
            Column("subject", "what was checked") { $0.subject },
            Column("text", "what was found") { $0.text.forReport },
            Column("good", "whether it is as it should be") { $0.isGood },
        ])
    }

    let isUsable: Bool
    let findings: [Finding]

    public init(isUsable: Bool, findings: [Finding]) {
        (self.isUsable, self.findings) = (isUsable, findings)
    }

    public static let report = Report<BackendResult>([
        Column("ok", "whether the backend can be used; this form is that of --backend") {
            $0.isUsable
        },
        Column("findings", "what was checked") { $0.findings },
    ])
}

/// What became of a message that `notify test` sent to a target.
public struct NotifyTestResult: Reported, Sendable {
    let target: String
    let fault: String?

    public init(target: String, fault: String?) { (self.target, self.fault) = (target, fault) }

    public static let report = Report<NotifyTestResult>([
        Column("target", "name of the target") { $0.target },
        Column("sent", "whether the message was sent") { $0.fault == nil },
        Column("fault", "why it was not") { $0.fault?.printable },
    ])
}

// What the module Import counts; it gives the values by name.

/// The status of a source.
public struct SourceResult: Reported {
    let facts: [String: JSON]

    public init(_ facts: [String: JSON]) { self.facts = facts }

    public static let report = Report<SourceResult>([
        fact("kind", .text, "kind of the source"),
        fact("path", .text, "its path"),
        fact("state", .text, "whether it was read and has changed since"),
        fact("problem", .text, "why it cannot be read").optional(),
        fact("read_at", .instant, "when it was last read").optional(),
        fact("files", .integer, "number of files"),
        fact("rejected", .integer, "number of rejected files of a spool").optional(),
        fact("time_zone", .text, "the time zone that its days follow").optional(),
        fact("counts", .map(.integer), "what its last reading counted"),
    ])

    private static func fact(
        _ name: String, _ type: ValueType, _ summary: String
    ) -> Column<SourceResult> {
        Column(name, summary, as: { type }) { $0.facts[name] ?? .null }
    }
}

/// The result of `import`.
public struct ImportResult: Reported {
    let facts: [String: JSON]

    public init(_ facts: [String: JSON]) { self.facts = facts }

    /// The result without the names of sources and files, which are personal, and without the
    /// elements and attachments.
    public static let withoutNames = report.without([
        "by_source", "elements", "files_refused", "attachments",
    ])

    public static let report = Report<ImportResult>([
        fact("name", .text, "name of the file"),
        fact("kind", .text, "kind of the source"),
        fact("time_zone", .text, "the time zone that days follow"),
        count("files", "number of files"),
        count("files_unchanged", "number of files that were read before"),
        count("files_unread", "number of files that cannot be read"),
        fact("unchanged_since", .instant, "when an unchanged file was read").optional(),
        count("bytes_read", "number of bytes"),
        count("records_read", "number of records"),
        counts("samples", "number of samples by type"),
        counts("made", "number of days, nights, workouts and sums by type"),
        counts(
            "unfinished", "number of days, nights and workouts that are not over, by type"),
        count("nights_without_sleep", "number of nights with time in bed only"),
        count("queued", "number of samples that were queued"),
        count("known", "number of samples that were known"),
        count("before_since", "number of samples before `since`"),
        count("paired", "number of second halves of a blood pressure"),
        count("folded", "number of records that became part of a day or night"),
        count("repeated", "number of records that occur twice"),
        count("metrics_queued", "number of days, nights and workouts that were queued"),
        count("metrics_known", "number of days, nights and workouts that were known"),
        count(
            "metrics_replaced", "number of days, nights and workouts that replace unsent ones"),
        count(
            "metrics_corrected", "number of days, nights and workouts that correct sent ones"),
        count("metrics_kept", "number of days, nights and workouts that stay as sent"),
        count("metrics_refused", "number of days, nights and workouts that were refused"),
        count("metrics_before_since", "number of days, nights and workouts before `since`"),
        count(
            "pruned",
            "number of records of months that `cleanup` removed, which are not kept"),
        count("nested", "number of records within others that were skipped"),
        count("bad_samples", "number of samples of pushed files that are faulty"),
        counts("unmapped", "number of records without a field at the backend, by type"),
        counts("refused", "number of refused records by reason"),
        counts("made_refused", "number of refused days, nights and workouts by reason"),
        counts(
            "elements_refused",
            "number of elements without a date or too long, and of files that are not kept, by name"
        ),
        fact(
            "malformations",
            .map(
                .object([
                    Field("count", .integer, "how often it occurs"),
                    Field(
                        "first_offset", .integer, "byte of the first one", isOptional: true),
                ])), "faults of the file that did no harm, by name"),
        counts("by_source", "number of records by source; only with --report").optional(),
        counts("elements", "number of elements by name; only with --report").optional(),
        fact(
            "files_refused", .map(.text),
            "why files beside an export are not kept, by name; only with --report"
        ).optional(),
        counts("attachments", "number of attachments by kind; only with --report").optional(),
        fact(
            "broke_at",
            .object([
                Field("byte_offset", .integer, "where reading ended"),
                Field("reason", .text, "why"),
            ]), "where the file is broken"
        ).optional(),
    ])

    private static func fact(
        _ name: String, _ type: ValueType, _ summary: String
    ) -> Column<ImportResult> {
        Column(name, summary, as: { type }) { $0.facts[name] ?? .null }
    }

    private static func count(_ name: String, _ summary: String) -> Column<ImportResult> {
        fact(name, .integer, summary)
    }

    private static func counts(_ name: String, _ summary: String) -> Column<ImportResult> {
        fact(name, .map(.integer), summary)
    }
}
