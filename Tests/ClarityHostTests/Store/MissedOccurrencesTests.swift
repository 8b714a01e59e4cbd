import ClarityHost
import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("Occurrences without a run")
struct MissedOccurrencesTests {
    private let bed: SQLiteRunStoreBed
    private let a: JobID
    private let b: JobID

    init() throws {
        bed = try SQLiteRunStoreBed()
        a = try #require(JobID("a"))
        b = try #require(JobID("b"))
        let (store, run) = (try bed.open().store, RunID(1))
        try store.decide { [a, b] _ in
            [
                .put(
                    Run(
                        id: run, job: a, kind: JobKind("work"), trigger: .schedule,
                        scheduledFor: .noon - .seconds(1800), enqueuedAt: .noon)),
                .recordOutcome(
                    a, .coalesced, first: .noon - .seconds(5400), latest: .noon - .seconds(3600),
                    count: 4, run: run),
                .recordOutcome(
                    b, .expired, first: .noon - .seconds(3000), latest: .noon - .seconds(3000),
                    count: 1, run: nil),
                .setClock(
                    a,
                    JobClock(anchor: .noon - .seconds(7200), considered: .noon - .seconds(1800))),
            ]
        }
    }

    private func missed(
        of job: JobID? = nil, since: Instant? = nil, limit: Int = 9, at now: Instant
    ) throws -> [MissedOccurrences] {
        let jobs = [
            Job(id: a, kind: JobKind("work"), schedule: .every(.seconds(600))),
            Job(id: b, kind: JobKind("work"), schedule: .every(.seconds(600))),
        ]
        return try RunHistory(inDirectory: bed.path).missed(
            of: job, since: since, limit: limit, jobs: jobs, at: now)
    }

    @Test func `occurrences without a run are listed with their outcome, latest first`() throws {
        let all = try missed(at: .noon - .seconds(900))

        #expect(all.map(\.job) == [b, a] && all.map(\.outcome) == [.expired, .coalesced])
        #expect(all.map(\.run) == [nil, RunID(1)])
        #expect(
            all.map(\.due) == [
                DueOccurrences(
                    first: .noon - .seconds(3000), latest: .noon - .seconds(3000), count: 1),
                DueOccurrences(
                    first: .noon - .seconds(5400), latest: .noon - .seconds(3600), count: 4),
            ])
        #expect(try missed(of: a, at: .noon - .seconds(900)) == [all[1]])
        #expect(try missed(since: .noon - .seconds(3599), at: .noon - .seconds(900)) == [all[0]])
        #expect(try missed(since: .noon - .seconds(3600), at: .noon - .seconds(900)) == all)
        #expect(try missed(limit: 1, at: .noon - .seconds(900)) == [all[0]])
    }

    @Test(arguments: [(900, 1), (901, 2)])
    func `a run that begins in 15 minutes has missed nothing that was merged into it`(
        wait: Int, count: Int
    ) throws {
        var run = Run(
            id: RunID(1), job: a, kind: JobKind("work"), trigger: .schedule,
            scheduledFor: .noon - .seconds(1800), enqueuedAt: .noon)
        (run.state, run.attempts) = (.succeeded, 1)
        run.startedAt = .noon - .seconds(5400) + .seconds(wait)
        run.finishedAt = .noon
        let done = run
        try bed.open().store.decide { _ in [.put(done)] }

        #expect(try missed(at: .noon - .seconds(900)).count == count)
    }

    @Test func `occurrences that no scheduler handled in 15 minutes are pending`() throws {
        let pending = MissedOccurrences(
            job: a,
            due: DueOccurrences(
                first: .noon - .seconds(1200), latest: .noon + .seconds(600), count: 4))

        #expect(try missed(at: .noon + .seconds(1500)).first == pending)
        #expect(try missed(at: .noon + .seconds(1499)).first?.due.count == 3)
        #expect(try missed(of: b, at: .noon + .seconds(1500)).map(\.outcome) == [.expired])
        #expect(
            try missed(since: .noon + .seconds(600), at: .noon + .seconds(1500)) == [pending])
        #expect(try missed(since: .noon + .seconds(601), at: .noon + .seconds(1500)) == [])
    }
}
