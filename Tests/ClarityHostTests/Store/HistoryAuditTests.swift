@testable import ClarityHost
import ClarityScheduler
import ClarityTestSupport
import Database
import Testing

@Suite("What an audit of the history finds")
struct HistoryAuditTests {
    /// A failure prints its seed; `arguments: [seed]` repeats it alone.
    @Test(arguments: UInt64(0)..<8)
    func `an audit finds no fault in random decisions of the planner`(seed: UInt64) throws {
        var life = try PlannedLife(seed: seed)

        for _ in 0..<150 { try life.step() }

        let findings = try life.findings()
        #expect(findings.filter(\.isOffence) == [], "seed \(seed)")
        #expect(try life.occurrences() > 50, "seed \(seed)")
    }

    @Test func `an audit finds no fault after retention has removed many runs`() throws {
        var life = try PlannedLife(seed: 1)
        for step in 1...300 {
            try life.step()
            if step % 40 == 0 { try life.prune(RetentionPolicy(runs: 3, age: .seconds(7200))) }
        }

        #expect(try life.findings().filter(\.isOffence) == [])
        #expect(try life.prunedJobs() > 0)
    }

    @Test(arguments: Damage.all)
    func `each kind of damage is found and named`(damage: Damage) throws {
        let life = try SmallLife()

        try life.connection.execute(damage.script)

        #expect(try life.audit().map(\.description) == damage.lines)
        #expect(try life.audit().allSatisfy { $0.rule == damage.rule })
        #expect(try life.audit().allSatisfy { $0.isOffence == (damage.rule != .lease) })
    }

    @Test func `an audit of the undamaged small history finds nothing`() throws {
        #expect(try SmallLife().audit() == [])
    }

    @Test func `an audit leaves out the occurrences of a former schedule`() throws {
        let life = try SmallLife()
        try life.connection.execute(
            "DELETE FROM occurrence_fates; UPDATE job_records SET schedule = 'another'")

        #expect(try life.audit() == [])
    }
}

/// Damage that SQL does to `SmallLife`, and the findings about it.
struct Damage: Sendable, CustomTestStringConvertible {
    var rule: AuditFinding.Rule
    var script: String
    var lines: [String]

    var testDescription: String { script }

    init(_ rule: AuditFinding.Rule, _ script: String, _ lines: String...) {
        self.rule = rule
        self.script = script
        self.lines = lines
    }

    static let all = [
        Damage(
            .file, "PRAGMA ignore_check_constraints = 1; UPDATE runs SET state = 'x' WHERE id = 1",
            "run 1 has a state of `x`, which does not exist"),
        Damage(
            .file,
            """
            PRAGMA ignore_check_constraints = 1; PRAGMA foreign_keys = 0;
            UPDATE occurrence_fates SET fate = 'lost'
            """,
            "the occurrences of job `a` at 1795176120000 have an outcome of `lost`, which does "
                + "not exist"),
        Damage(
            .file, "INSERT INTO attempts VALUES (99, 1, 0, 1, 'stopped', NULL, NULL, '', 0)",
            "a row of `attempts` refers to one of `runs` that is gone"),
        Damage(
            .attempts, "DELETE FROM attempts WHERE run_id = 1",
            "run 1, which is succeeded, had 1 attempts; 0 are recorded, the last is 0"),
        Damage(
            .attempts, "UPDATE attempts SET number = 2 WHERE run_id = 1",
            "run 1, which is succeeded, had 1 attempts; 1 are recorded, the last is 2"),
        Damage(
            .attempts,
            "UPDATE attempts SET result = 'running', finished_at_ms = NULL WHERE run_id = 1",
            "run 1, which is succeeded, has a running attempt 1"),
        Damage(
            .attempts,
            "UPDATE attempts SET result = 'stopped', finished_at_ms = 1 WHERE run_id = 2",
            "run 2, which is running, has no running attempt"),
        Damage(
            .deferrals,
            """
            INSERT INTO deferrals VALUES
                (1, 'idle', 0, NULL, 'constraint', 'idle', 'in use', 'test', 0)
            """,
            "run 1, which is succeeded, still waits for `idle`"),
        Damage(
            .oneRunning,
            """
            DROP INDEX runs_one_running;
            UPDATE runs SET state = 'running', finished_at_ms = NULL, attempts = 0,
                started_at_ms = NULL, lease_owner = (SELECT lease_owner FROM runs WHERE id = 2),
                lease_boot = (SELECT lease_boot FROM runs WHERE id = 2), lease_expires_ms =
                (SELECT lease_expires_ms FROM runs WHERE id = 2), attempts = 1, started_at_ms = 1
            WHERE id = 1;
            UPDATE job_records SET kept_runs = 0;
            UPDATE attempts SET result = 'running', finished_at_ms = NULL WHERE run_id = 1
            """,
            "job `a` has several running runs: 1, 2"),
        Damage(
            .lease, "UPDATE runs SET lease_owner = '1-gone' WHERE id = 2",
            "run 2 of `a` is running under the lease of `1-gone`, which has lapsed; the next look "
                + "takes it over"),
        Damage(
            .occurrences, "DELETE FROM occurrence_fates",
            "job `a`: 3 occurrences from 2026-11-20T12:02:00Z to 2026-11-20T12:04:00Z have no "
                + "outcome"),
        Damage(
            .occurrences,
            "UPDATE job_records SET considered_until_ms = considered_until_ms + 60000",
            "job `a`: the occurrence at 2026-11-20T12:05:00Z has no outcome"),
        Damage(
            .occurrences,
            "UPDATE job_records SET considered_until_ms = considered_until_ms - 60000",
            "job `a`: what comes after 2026-11-20T12:03:00Z has its outcome before its time"),
        Damage(
            .occurrences, "UPDATE occurrence_fates SET occurrences = 2",
            "job `a`: what is skipped counts 2 occurrences from 2026-11-20T12:02:00Z to "
                + "2026-11-20T12:04:00Z, the schedule names 3"),
        Damage(
            .occurrences,
            "UPDATE runs SET scheduled_for_ms = scheduled_for_ms + 60000 WHERE id = 2",
            "job `a`: the occurrence at 2026-11-20T12:01:00Z has no outcome",
            "job `a`: the occurrence at 2026-11-20T12:02:00Z has another outcome beside what "
                + "is skipped"),
        Damage(
            .occurrences, "UPDATE runs SET scheduled_for_ms = scheduled_for_ms + 1 WHERE id = 2",
            "job `a`: the occurrence at 2026-11-20T12:01:00Z has no outcome",
            "job `a`: run 2 is for 2026-11-20T12:01:00.001Z, which the schedule does not name"),
        Damage(
            .counts, "UPDATE job_records SET kept_failures = 4",
            "job `a` counts 1 finished runs and 4 failed ones, it has 1 and 0"),
    ]
}

/// A job that is due each minute: its first run succeeded, the second is running, and three
/// occurrences since then were skipped.
struct SmallLife {
    let bed: SQLiteRunStoreBed
    let connection: Connection
    let jobs: JobSet

    init() throws {
        bed = try SQLiteRunStoreBed()
        let job = Job(
            id: try #require(JobID("a")), kind: JobKind("work"), schedule: .every(.seconds(60)),
            timeout: .seconds(3600))
        jobs = JobSet([job])
        let (store, owner) = try bed.open()
        var planner = Planner(jobs: jobs, owner: owner, seed: 1)
        let moves: [(Int, [Planner.Event])] = [
            (0, [.tick]), (30, [.finished(RunID(1), .success())]), (60, [.tick]), (240, [.tick]),
        ]
        for (second, events) in moves {
            var next = planner
            try store.decide { ledger in
                next.handle(
                    events, at: Moment(wall: .noon + .seconds(second), elapsed: .seconds(second)),
                    conditions: .everythingAllowed, ledger: ledger
                ).changes
            }
            planner = next
        }
        connection = try FileConnection(path: "\(bed.path)/history.db")
    }

    func audit() throws -> [AuditFinding] { try RunHistory(inDirectory: bed.path).audit(jobs) }
}

/// Several jobs over hours in which clocks step, jobs are paused, and attempts end in every way.
struct PlannedLife {
    private let bed: SQLiteRunStoreBed
    private let jobs: JobSet
    private let store: any RunStore
    private var planner: Planner
    private var moment = Moment(wall: .noon, elapsed: .zero)
    private var random: SeededGenerator
    private var running: [RunID] = []

    init(seed: UInt64) throws {
        bed = try SQLiteRunStoreBed()
        let bounds = CatchUpBounds(atMost: 3, window: .seconds(3600), spread: .seconds(60))
        jobs = JobSet(
            [
                Job(
                    id: try #require(JobID("a")), kind: JobKind("work"),
                    schedule: .every(.seconds(60)), overlap: .queue),
                Job(
                    id: try #require(JobID("b")), kind: JobKind("work"),
                    schedule: .every(.seconds(300)), constraints: [.connected],
                    catchUp: .all(bounds)),
                Job(
                    id: try #require(JobID("c")), kind: JobKind("work"),
                    schedule: .every(.seconds(900)), startWithin: .seconds(600),
                    overlap: .replace, catchUp: .none),
            ])
        let owner: String
        (store, owner) = try bed.open()
        planner = Planner(jobs: jobs, owner: owner, seed: seed)
        random = SeededGenerator(seed: seed)
    }

    mutating func step() throws {
        let ids = jobs.jobs.map(\.id)
        var events: [Planner.Event] = [.tick]
        switch Int.random(in: 0..<60, using: &random) {
        case 0: moment.wall = moment.wall - .seconds(Int.random(in: 0...20_000, using: &random))
        case 1...3:
            let until: Instant? = Bool.random(using: &random) ? moment.wall + .seconds(900) : nil
            events = [
                .pause(
                    [ids[Int.random(in: ids.indices, using: &random)]], until: until,
                    reason: "")
            ]
        case 4...9: events = [.resume(ids)]
        case 10...12: events = [.requested([ids[0]], isForced: false)]
        case 13...39:
            guard let run = running.popLast() else { break }
            let ends: [AttemptEnd] = [.success(), .failure, .retry(), .killed()]
            events = [.finished(run, ends[Int.random(in: ends.indices, using: &random)])]
        default: break
        }
        let span = Duration.seconds(Int.random(in: 1...600, using: &random))
        moment.wall = moment.wall + span
        moment.elapsed += span
        var conditions = Conditions.everythingAllowed
        conditions.connected.value = Int.random(in: 0..<3, using: &random) > 0
        var next = planner
        var plan = Plan()
        let (moment, known) = (moment, conditions)
        try store.decide { ledger in
            plan = next.handle(events, at: moment, conditions: known, ledger: ledger)
            return plan.changes
        }
        planner = next
        running += plan.started.map(\.run)
    }

    func prune(_ policy: RetentionPolicy) throws {
        try store.decide { [moment] _ in [.prune(policy, at: moment.wall)] }
    }

    func findings() throws -> [AuditFinding] {
        try RunHistory(inDirectory: bed.path).audit(jobs)
    }

    /// Returns how many jobs have lost occurrences to retention.
    func prunedJobs() throws -> Int {
        try FileConnection(path: "\(bed.path)/history.db").first(
            "SELECT count(*) FROM job_records WHERE pruned_until_ms IS NOT NULL"
        ) { Int($0.integer(0)) } ?? 0
    }

    /// Returns the number of runs and outcomes.
    func occurrences() throws -> Int {
        try FileConnection(path: "\(bed.path)/history.db").first(
            "SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM occurrence_fates)"
        ) { Int($0.integer(0)) } ?? 0
    }
}
