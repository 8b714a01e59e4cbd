import ClarityHost
import ClarityJobs
import ClarityReports
import ClarityScheduler
import ClaritySystem
import JSON

/// `notices list` and `notify test`.
struct NoticeCommands {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    /// `notices list`: lists notices, newest first.
    func list() throws(CommandFailure) -> ExitStatus {
        let limit = try composition.limit(1...10_000)
        let file = try composition.jobFile()
        let store = try composition.healthStore(file, as: "notices")
        let found = try usingHealthData { () throws(HealthStoreError) in
            try store?.notices.list(limit) ?? []
        }
        var table = Table(heading: ["RAISED", "OVER", "KIND", "SENT", "NOTICE"])
        table.stateColumn = 1
        table.rows = found.map { entry in
            [
                RunText.seconds(entry.notice.raisedAt),
                entry.notice.resolvedAt.map(RunText.seconds) ?? "open",
                entry.notice.notice.kind.rawValue,
                "\(entry.sent)" + (entry.waiting > 0 ? " of \(entry.sent + entry.waiting)" : "")
                    + (entry.twice > 0 ? ", \(entry.twice) perhaps twice" : ""),
                entry.notice.notice.text,
            ]
        }
        composition.console.results(
            found.map { entry in
                [
                    "notice": .integer(entry.notice.id),
                    "kind": .string(entry.notice.notice.kind.rawValue),
                    "subject": .string(entry.notice.notice.subject),
                    "text": .string(entry.notice.notice.text),
                    "raised_at": .text(entry.notice.raisedAt),
                    "resolved_at": .text(entry.notice.resolvedAt),
                    "messages_sent": .integer(entry.sent),
                    "messages_waiting": .integer(entry.waiting),
                    "messages_perhaps_twice": .integer(entry.twice),
                ]
            }, table: table)
        return .done
    }

    /// `notify test [TARGET]`: sends a test message to the targets of the job file.
    func test() throws(CommandFailure) -> ExitStatus {
        let operands = composition.arguments.operands
        guard operands.count < 2 else {
            throw CommandFailure(
                .usage, "`notify test` wants one target at most, got \(operands.count)")
        }
        let file = try composition.jobFile()
        let entries = file.settings.filter { $0.key.hasPrefix("notify.") }
        guard !entries.isEmpty else {
            throw CommandFailure(
                .configuration, "the job file has no `notify`", "help: man clarity-jobs.yaml")
        }
        guard let job = JobID("notify") else {
            throw CommandFailure(.internalFault, "no name for the order")
        }
        var options = entries
        options["key.variable"] = file.settings["key.variable"]
        try OrderHandover.give(
            AttemptOrder(
                run: RunID(0), job: job, kind: .notify, attempt: 1, generation: 1,
                scheduledFor: composition.clock.now, timeout: .zero, warning: .zero,
                memoryLimitBytes: 0, options: options))
        try composition.exec(
            "clarity-jobs-worker",
            ["notify-test", "--output", composition.console.form.rawValue]
                + operands.flatMap { ["--target", $0] }, for: file)
    }
}
