import HealthStore
@testable import ClarityScheduler
import Testing

@testable import clarity_jobs

@Suite("Notices that follow from the history")
struct HistoryNoticesTests {
    private static let now = Instant(secondsSince1970: 1_760_000_000)

    /// Returns a run of the job that ended so long ago, in this state, for this reason.
    private func run(
        _ number: Int64, _ state: RunState, _ failure: Failure.Category? = nil,
        hoursAgo: Int64 = 1
    ) throws -> Run {
        let at = Self.now - .seconds(hoursAgo * 3600)
        var run = Run(
            id: RunID(number), job: try #require(JobID("upload")), kind: JobKind("bulk-upload"),
            trigger: .schedule, scheduledFor: at, enqueuedAt: at)
        run.state = state
        run.startedAt = at
        run.finishedAt = state == .enqueued ? nil : at
        run.failure = failure.map { Failure($0, "reason") }
        return run
    }

    private func notices(
        _ runs: [Run], _ change: (inout HistoryNotices) -> Void = { _ in }
    ) throws -> [String] {
        var history = HistoryNotices(
            jobs: [
                .init(id: try #require(JobID("upload")), usesBackend: true, status: nil, runs: runs)
            ], now: Self.now)
        change(&history)
        return history.active.map { "\($0.kind.rawValue) \($0.subject): \($0.text)" }
    }

    @Test func `only the last finished run says whether a job failed`() throws {
        let failed =
            "job-failed upload: job `upload` failed; see "
            + "`clarity-jobs history show 2`"

        #expect(
            try notices([run(2, .failed, .work), run(1, .succeeded)]) == [
                "\(failed)\nlast success at \(Self.now - .seconds(3600))"
            ])
        #expect(
            try notices([
                run(3, .failed, .work), run(2, .failed, .work, hoursAgo: 2),
                run(1, .succeeded, hoursAgo: 3),
            ]).first?.hasSuffix(
                "\n2 failures in a row since \(Self.now - .seconds(7200)); last success at "
                    + "\(Self.now - .seconds(10_800))") == true)
        #expect(try notices([run(3, .enqueued), run(2, .failed, .work)]) == [failed])
        #expect(try notices([run(3, .skipped), run(2, .failed, .work)]) == [failed])
        #expect(try notices([run(3, .succeeded), run(2, .failed, .work)]).isEmpty)
        #expect(try notices([]).isEmpty)
    }

    @Test func `a backend is missed after six hours without a success`() throws {
        let outage =
            "backend-unreachable-for : the backend cannot be reached since "
            + "\(Self.now - .seconds(6 * 3600))"

        let long = try notices([
            run(3, .enqueued, .unreachable), run(2, .cancelled, .unreachable, hoursAgo: 6),
            run(1, .succeeded, hoursAgo: 7),
        ])
        let short = try notices([run(2, .enqueued, .unreachable, hoursAgo: 5)])
        let answered = try notices([
            run(3, .succeeded), run(2, .cancelled, .unreachable, hoursAgo: 9),
        ])

        #expect(long == [outage] && short.isEmpty && answered.isEmpty)
    }

    @Test func `a run that waits for a login or for space says so`() throws {
        var open = try run(1, .enqueued)
        open.needs = .login
        let wait = Deferral(
            .constraint, subject: "storage_free", wanted: "1 GiB", measured: "3 MiB", source: "")

        let found = try notices([]) {
            $0.jobs[0].status = JobStatus(
                job: open.job, next: nil, nextStart: nil, open: open, deferrals: [wait],
                overdueSince: Self.now)
        }

        #expect(
            found == [
                "login-needed upload: job `upload` waits for a login; run `clarity-jobs auth login`",
                "disk-low upload: job `upload` waits for free space: 3 MiB, wanted 1 GiB",
            ])
    }

    @Test func `a scheduler that was silent for 16 minutes is told for a day`() throws {
        func found(
            silentMinutes: Int64, hoursAgo: Int64 = 1, trigger: Trigger = .catchUp,
            _ change: (inout HistoryNotices) -> Void = { _ in }
        ) throws -> [String] {
            var late = try run(2, .succeeded, hoursAgo: hoursAgo)
            late.trigger = trigger
            var before = try run(1, .succeeded)
            before.enqueuedAt = late.enqueuedAt - .seconds(silentMinutes * 60)
            before.finishedAt = before.enqueuedAt
            return try notices([late, before], change)
        }
        let boot = Self.now - .seconds(3600 + 14 * 60)

        #expect(
            try found(silentMinutes: 16) == [
                "scheduler-overdue : no scheduler ran between \(Self.now - .seconds(4560)) and "
                    + "\(Self.now - .seconds(3600)), and jobs were overdue; does `clarity-jobs loop` "
                    + "or cron run?"
            ])
        #expect(try found(silentMinutes: 15).isEmpty)
        #expect(try found(silentMinutes: 16, hoursAgo: 23).count == 1)
        #expect(try found(silentMinutes: 16, hoursAgo: 24).isEmpty)
        #expect(try found(silentMinutes: 16, trigger: .schedule).isEmpty)
        #expect(try found(silentMinutes: 99) { $0.absence.bootedAt = boot }.isEmpty)
        #expect(try found(silentMinutes: 99) { $0.absence.asleep = .seconds(84 * 60) }.isEmpty)
        #expect(try found(silentMinutes: 99) { $0.absence.asleep = .seconds(83 * 60) }.count == 1)
    }

    @Test(arguments: [(59, Lease.State.held, 0), (61, .held, 1), (61, .lapsed, 0)])
    func `a job is slow while an attempt runs longer than expected`(
        minutes: Int64, lease: Lease.State, count: Int
    ) throws {
        var open = try run(7, .running)
        open.lease = Lease(owner: "loop", state: lease)
        let since = Self.now - .seconds(minutes * 60)

        let found = try notices([]) {
            $0.jobs[0].status = JobStatus(
                job: open.job, next: nil, nextStart: nil, open: open, deferrals: [])
            $0.jobs[0].pace = JobPace(
                since: since, lastSuccesses: [], expected: .seconds(3600))
        }

        let text =
            "job-slow upload: job `upload` runs since \(since), expected 1h; see "
            + "`clarity-jobs history show 7`"
        #expect(found == [String](repeating: text, count: count))
    }

    @Test(arguments: [(8, 1), (7, 0)])
    func `a backup is old after eight days`(days: Int64, count: Int) throws {
        let found = try notices([]) { $0.lastBackup = Self.now - .seconds(days * 86_400) }

        #expect(found.count == count && found.allSatisfy { $0.hasPrefix("backup-old : ") })
    }
}
