import ClarityTestSupport
@testable import ProgramTestSupport
import Database
import Testing

/// What the backend and the state directory contain at the end of a life, in numbers.
struct KillLedger: Sendable {
    /// What the backend received and stored.
    var record = SendRecord()
    /// The number of the newest send when the interrupted command had ended.
    var sendsUntilCut = 0
    /// The numbers of insights and analyses that the backend was asked for and made.
    var insights = 0
    var analyses = 0
    /// The number of samples of the outbox in each state.
    var samples: [String: Int] = [:]
    /// What the outbox reports about its samples.
    var claims = DeliveryJudge.Claims()
    /// The number of insight requests that may have reached the backend. Their run waits.
    var insightsInDoubt = 0
    /// The runs that have not ended, with their job and state.
    var open: [String] = []
    /// Attempts that failed through a fault of their own.
    var broken: [String] = []
    /// What SQLite and the program's own audit find wrong.
    var damage: [String] = []

    /// Creates an empty ledger.
    init() {}

    /// Reads the ledger of a playground, including the program's own audit of its history, its
    /// outbox and its log.
    init(_ playground: Playground) async throws {
        let sandbox = try #require(playground.sandbox)
        let folder = try playground.readableState()
        let state = try StateAudit(statePath: folder)
        record = try await sandbox.sends()
        samples = state.samples
        claims = DeliveryJudge.Claims(state)
        damage = state.damage
        open = try KillLedger.openRuns(playground)
        broken = try OwnFault.kept(in: playground)
        let health = try FileConnection(
            path: "\(folder)/health.db", access: .readOnly)
        insightsInDoubt =
            try health.first("SELECT count(*) FROM insight_requests WHERE state = 'sending'") {
                Int($0.integer(0))
            } ?? 0
        let backend = try FileConnection(
            path: "\(playground.folder.path)/sandbox/sandbox.db", access: .readOnly)
        for (kind, count) in try backend.all(
            "SELECT kind, count(*) FROM work GROUP BY kind",
            map: {
                ($0.text(0), Int($0.integer(1)))
            })
        {
            if kind == "insight" { insights = count }
            if kind == "analysis" { analyses = count }
        }
        let audit = try await playground.run("audit")
        if audit.status != 0 {
            damage += audit.outputLines + audit.errorLines + ["audit ended with \(audit.status)"]
        }
        let log = try await playground.run("audit", "log", "--verify")
        if log.status != 0 { damage += log.errorLines + ["audit log ended with \(log.status)"] }
    }

    /// Returns the runs that wait or are going, with their job and state.
    static func openRuns(_ playground: Playground) throws -> [String] {
        try playground.openHistory().all(
            """
            SELECT job_id || ' is ' || state || coalesce(' until ' || not_before_ms, '')
            FROM runs WHERE state IN ('enqueued', 'running') ORDER BY id
            """
        ) { $0.text(0) }
    }

    /// The faults of a life, compared with an undisturbed life of the same setting.
    struct Verdict {
        var lost = 0
        var doubled = 0
        var stuck = 0
        var findings: [String] = []
    }

    /// Judges the state after a kill and the run that repairs it.
    func verdict(_ setting: KillSetting, undisturbed: KillLedger) -> Verdict {
        var verdict = Verdict()
        func find(_ isWrong: Bool, _ words: String) {
            if isWrong { verdict.findings.append(words) }
        }
        // A run has a single upload in flight, and a kill can cut short only that one.
        let held = samples["setAside", default: 0] - undisturbed.samples["setAside", default: 0]
        var judge = DeliveryJudge(
            policy: setting.policy, expected: setting.expected, record: record, claims: claims)
        judge.mayBeHeld =
            undisturbed.claims.held + (setting.backend == .hold ? KillSetting.batchSize : 0)
        judge.cutShort.sends = record.programs(through: sendsUntilCut)
        let delivery = judge.verdict()
        (verdict.lost, verdict.doubled) = (delivery.lost, delivery.doubled)
        verdict.findings += delivery.findings
        let inDoubt = max(held, claims.possibleCopies - undisturbed.claims.possibleCopies)
        find(inDoubt > KillSetting.batchSize, "\(inDoubt) samples are in doubt")
        find(held != 0 && setting.backend != .hold, "\(held) samples more are set aside")

        let waiting = samples["queued", default: 0] + samples["sending", default: 0]
        find(waiting > 0, "\(waiting) samples were not sent")
        for state in ["rejected", "discarded"] {
            let more = samples[state, default: 0] - undisturbed.samples[state, default: 0]
            find(more != 0, "\(more) samples more are \(state)")
        }
        if setting.way != .cleanup {
            let (all, usual) = (
                samples.values.reduce(0, +), undisturbed.samples.values.reduce(0, +)
            )
            find(all != usual, "the outbox has \(all) samples, \(usual) undisturbed")
        }

        // The program first searches for some minutes for an insight that it may have requested.
        let isPatient = insightsInDoubt > 0
        let stuck = open.filter { !(isPatient && $0.hasPrefix("insight is enqueued")) }
        verdict.stuck = stuck.count + delivery.stuck
        find(!stuck.isEmpty, "no end: \(stuck.joined(separator: ", "))")
        find(
            insights > undisturbed.insights || insights < undisturbed.insights && !isPatient,
            "\(insights) insights, \(undisturbed.insights) undisturbed")
        find(analyses < undisturbed.analyses, "\(analyses) of \(undisturbed.analyses) analyses")
        for line in broken + damage { find(true, line) }
        return verdict
    }
}
