@testable import ClarityHost
import ClarityScheduler
import ClarityTestSupport
import Database
import Testing

@Suite("What the history says of one job")
struct JobHistoryTests {
    let bed: SQLiteRunStoreBed
    let store: any RunStore
    let a: JobID
    let b: JobID

    init() throws {
        bed = try SQLiteRunStoreBed()
        store = try bed.open().store
        a = try #require(JobID("a"))
        b = try #require(JobID("b"))
    }

    @Test func `what held a job back is told with how often and for how long`() throws {
        // This run ended before the span, so neither it nor older runs count.
        try add(1, a, waits: [("idle", -90, -80)], ends: -70)
        try add(2, a, waits: [("idle", -65, -40), ("network", -50, -45)], ends: -30)
        try add(3, b, waits: [("idle", -20, -10)], ends: -5)
        try add(4, a, waits: [("idle", -20, -10), ("idle", -8, nil)], ends: nil)

        let history = try RunHistory(inDirectory: bed.path)
        let held = try history.holds(a, since: .noon - .seconds(60), until: .noon)

        #expect(held.map(\.subject) == ["idle", "network"])
        #expect(held.map(\.spans) == [3, 1])
        #expect(held.map(\.total) == [.seconds(20 + 10 + 8), .seconds(5)])
        #expect(held.map(\.runs) == [2, 1])
        #expect(
            try history.holds(a, since: .noon, until: .noon + .seconds(9)).map(\.total)
                == [.seconds(9)])
        #expect(try history.holds(try #require(JobID("c")), since: .noon, until: .noon) == [])
    }

    @Test func `a wait for a group is booked under the reason that it had then`() throws {
        try add(1, a, waits: [], ends: nil)
        let spans: [(WaitReason?, Int)] = [(.overlap, -90), (.backoff, -60), (nil, -10)]
        for (reason, at) in spans {
            let wait = reason.map {
                Deferral($0, subject: "group nas", wanted: "a place", measured: "", source: "test")
            }
            try store.decide { _ in
                [.deferred(RunID(1), [wait].compactMap(\.self), at: .noon + .seconds(at))]
            }
        }

        let history = try RunHistory(inDirectory: bed.path)
        let held = try history.holds(a, since: .noon - .seconds(100), until: .noon)

        #expect(held.map(\.reason) == [.backoff, .overlap])
        #expect(held.map(\.total) == [.seconds(50), .seconds(30)])
        #expect(
            try history.totals(at: .noon)[a]?.waits
                == [.overlap: .seconds(30), .backoff: .seconds(50)])
        let waits = try history.waits(of: a, since: .noon - .seconds(100), until: .noon)
        #expect(waits.first?.total == .seconds(80) && waits.first?.holds == held)
    }

    @Test func `the newest run of each job is known`() throws {
        try add(1, a, waits: [], ends: -70)
        try add(2, b, waits: [], ends: -60)
        try add(3, a, waits: [], ends: nil)

        let history = try RunHistory(inDirectory: bed.path)
        let c = try #require(JobID("c"))

        let last = try [a, b, c].map { try history.runs(of: $0, limit: 1).first?.id }
        #expect(last == [RunID(3), RunID(2), nil])
    }

    @Test func `no question walks the runs of other jobs`() throws {
        try add(1, a, waits: [("idle", -9, -8)], ends: -7)
        let connection = try FileConnection(path: "\(bed.path)/history.db")
        let questions = [
            "SELECT id FROM runs WHERE job_id = 'a' ORDER BY id DESC LIMIT 20",
            "SELECT id, finished_at_ms FROM runs WHERE job_id = 'a' AND id < 9 ORDER BY id DESC "
                + "LIMIT 500",
            """
            SELECT subject FROM runs CROSS JOIN deferrals ON run_id = runs.id
            WHERE job_id = 'a' AND runs.id >= 1
            """,
            "SELECT id FROM runs WHERE job_id = 'a' AND era = 0 "
                + "AND \(RunRow.ofOccurrence) AND scheduled_for_ms > 1 "
                + "ORDER BY scheduled_for_ms, id",
            "SELECT id FROM runs WHERE (state = 'failed') = 0 AND finished_at_ms IS NOT NULL "
                + "AND finished_at_ms < 5 ORDER BY finished_at_ms LIMIT 10",
            "SELECT id FROM runs WHERE job_id = 'a' AND (state = 'failed') = 1 "
                + "AND finished_at_ms IS NOT NULL ORDER BY id LIMIT 10",
            "SELECT id FROM \(RunRow.open) ORDER BY id",
            "SELECT job_id FROM job_records WHERE revision > 7",
        ]

        for question in questions {
            let plan = try connection.all("EXPLAIN QUERY PLAN \(question)") { $0.text(3) }
            let usesIndex = plan.allSatisfy { step in
                step.hasPrefix("SEARCH") || step.contains("USING INDEX runs_o")
                    || step.contains("USING COVERING INDEX runs_o")
                    || step.contains("TEMP B-TREE")
            }
            #expect(usesIndex, "\(question): \(plan)")
        }
    }

    @Test func `the starts of a group are read for its jobs alone, by the ends of runs`() throws {
        for (number, name) in ["a", "b", "anna/a", "ab", "a/b"].enumerated() {
            var run = Run(
                id: RunID(Int64(number + 1)), job: try #require(JobID(name)),
                kind: JobKind("work"), trigger: .manual, scheduledFor: .noon, enqueuedAt: .noon)
            (run.state, run.attempts, run.startedAt) = (.succeeded, 1, .noon)
            run.finishedAt = .noon
            let done = run
            try store.decide { _ in
                [.put(done), .putAttempt(Attempt(run: done.id, number: 1, startedAt: .noon))]
            }
        }
        let connection = try FileConnection(path: "\(bed.path)/history.db")
        let values: [Value] = [.instant(.noon - .seconds(1)), .text("/a/c/")]

        // What the statement itself returns: every row costs.
        let jobs = try connection.all(LedgerRows.startsQuery, with: values) { $0.text(0) }
        let plan = try connection.all("EXPLAIN QUERY PLAN \(LedgerRows.startsQuery)", with: values)
        {
            $0.text(3)
        }

        #expect(Set(jobs) == ["a", "anna/a"] && jobs.count == 2)
        #expect(
            plan.count { $0.contains("runs_by_end (<expr>=? AND finished_at_ms>?)") } == 2,
            "\(plan)")
        #expect(!plan.contains { $0.hasPrefix("SCAN") && !$0.contains("runs_open") }, "\(plan)")
    }

    /// Adds a job's run with its waits and its end, in seconds relative to noon.
    private func add(
        _ number: Int64, _ job: JobID, waits: [(String, Int, Int?)], ends: Int?
    ) throws {
        var run = Run(
            id: RunID(number), job: job, kind: JobKind("work"), trigger: .manual,
            scheduledFor: .noon - .seconds(100), enqueuedAt: .noon - .seconds(100))
        let new = run
        try store.decide { _ in [.put(new)] }
        for (subject, since, until) in waits {
            let wait = Deferral(
                .constraint, subject: subject, wanted: "yes", measured: "no", source: "test")
            try store.decide { _ in
                [.deferred(new.id, [wait], at: .noon + .seconds(since))]
            }
            guard let until else { continue }
            try store.decide { _ in [.deferred(new.id, [], at: .noon + .seconds(until))] }
        }
        guard let ends else { return }
        run.state = .skipped
        run.finishedAt = .noon + .seconds(ends)
        let done = run
        try store.decide { _ in [.put(done)] }
    }
}
