import ClarityHost
import ClarityScheduler
import Platform
import JSON

/// `history missed [JOB]`: lists the occurrences that started no run of their own, latest first.
struct MissedCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> ExitStatus {
        let job = try composition.historyJob("history missed")
        let limit = try composition.limit(1...100_000)
        let since = try composition.time("since")
        let file = try composition.jobFile()
        let history = try composition.history(file)
        let found = try askingStore { () throws(RunStoreError) in
            try history.missed(
                of: job, account: composition.namedAccount, since: since, limit: limit,
                jobs: file.enabledJobs,
                at: composition.clock.now)
        }
        if found.isEmpty, let job { try composition.demandKnown(job, file, history) }
        composition.console.results(
            found.map(object),
            table: Table(
                heading: ["JOB", "FIRST", "LATEST", "NUMBER", "WHAT BECAME OF THEM"],
                rows: found.map(row)))
        return .done
    }

    private func row(_ missed: MissedOccurrences) -> [String] {
        [
            missed.job.rawValue, RunText.seconds(missed.due.first),
            RunText.seconds(missed.due.latest), String(missed.due.count),
            RunText.words(of: missed.fate, run: missed.run),
        ]
    }

    private func object(_ missed: MissedOccurrences) -> JSON {
        [
            "job": .string(missed.job.rawValue), "first_at": .text(missed.due.first),
            "latest_at": .text(missed.due.latest), "occurrences": .count(missed.due.count),
            "fate": .string(missed.fate?.rawValue ?? "pending"),
            "run": missed.run.map { .integer($0.rawValue) } ?? .null,
            "words": .string(RunText.words(of: missed.fate, run: missed.run)),
        ]
    }
}
