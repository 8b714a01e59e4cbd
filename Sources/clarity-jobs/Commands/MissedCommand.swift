public import ClarityHost
import ClarityScheduler
import Platform
public import Reports

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
        composition.console.results(found)
        return .done
    }
}

extension MissedOccurrences: Reported {
    private var words: String { RunReport.words(of: fate, run: run) }

    public static let report = Report<MissedOccurrences>([
        Column("job", "id of the job") { $0.job.rawValue }.shown("JOB"),
        Column("first_at", "the first occurrence") { $0.due.first }.shown("FIRST"),
        Column("latest_at", "the last one; the same if it is one") { $0.due.latest }
            .shown("LATEST"),
        Column("occurrences", "number of occurrences") { $0.due.count }.shown("NUMBER"),
        Column("fate", "`coalesced`, `skipped`, `expired`, `paused` or `pending`") {
            $0.fate?.rawValue ?? "pending"
        },
        Column("run", "the run that stands for them, or that was in the way") {
            $0.run?.rawValue
        },
        Column("words", "the same in words") { $0.words }.shown("WHAT BECAME OF THEM"),
    ])
}
