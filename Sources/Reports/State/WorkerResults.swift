public import ClarityScheduler
import Platform

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
