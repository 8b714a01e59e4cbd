import ClarityHost
import HealthStore
import Testing

@testable import ClarityScheduler
@testable import clarity_jobs

@Suite struct JobStatusReportTests {
    private let at = Instant(secondsSince1970: 1_760_000_000)

    private func deferral(_ reason: WaitReason, _ subject: String) -> Deferral {
        Deferral(reason, subject: subject, wanted: "w", measured: "m", source: "s")
    }

    private func run(
        _ state: RunState, failure: String? = nil, leased status: Lease.State = .held
    ) throws -> Run {
        var run = Run(
            id: RunID(1), job: try #require(JobID("a")), kind: JobKind("k"), trigger: .schedule,
            scheduledFor: at, enqueuedAt: at)
        run.state = state
        run.lease = Lease(owner: "someone", state: status)
        run.failure = failure.map { Failure(.unreachable, $0) }
        if failure != nil { (run.attempts, run.failures) = (1, 1) }
        return run
    }

    private func facts(
        next: Bool = false, open: Run? = nil, _ deferrals: [Deferral] = [],
        failed reason: String? = nil,
        setBackUntil: Instant? = nil
    ) throws -> JobStatusReport.Facts {
        JobStatusReport.Facts(
            status: JobStatus(
                job: try #require(JobID("a")), next: next ? at : nil,
                nextStart: next ? at : nil, open: open,
                deferrals: deferrals, setBackUntil: setBackUntil),
            since: ["network": at],
            lastEnd: reason.map { JobEnd(run: RunID(7), at: at, failure: $0) })
    }

    @Test func `a running job is named with how long its attempts take`() throws {
        func words(_ minutes: Int64, _ lengths: [Int64]) throws -> (String, Bool) {
            var facts = try facts(open: run(.running))
            facts.now = at + .seconds(minutes * 60)
            facts.pace = JobPace(since: at, lastSuccesses: lengths.map { .seconds($0 * 60) })
            return (JobStatusReport.words(facts), JobStatusReport.isHeldBack(facts))
        }

        #expect(try words(130, [1, 2, 3]) == ("runs now", false))
        #expect(
            try words(37, [11, 12, 12, 12, 12])
                == ("has been running for 37m, usually 12m", false))
        #expect(
            try words(130, [11, 12, 12, 12, 12])
                == ("is slow: running for 2h 10m, usually 12m", true))
    }

    @Test func `a job has one state, and may wait for more than its schedule`() throws {
        let notDue = deferral(.notDue, "schedule")
        let network = deferral(.constraint, "network")
        let rows: [(JobStatusReport.Facts, String, Bool)] = [
            (JobStatusReport.Facts(isDisabled: true), "is disabled", true),
            (try facts(open: run(.running), [network]), "runs now", false),
            (
                try facts(open: run(.running, leased: .lapsed)),
                "ran when its scheduler ended; the next `loop` or `run --due` takes it over", true
            ),
            (try facts(next: true, [notDue]), "is due 2025-10-09T08:53:20Z", false),
            // No run is requested, so none waits for the network.
            (try facts(next: true, [notDue, network]), "is due 2025-10-09T08:53:20Z", false),
            (
                try facts(next: true, [notDue], setBackUntil: at - .seconds(60)),
                "is due 2025-10-09T08:53:20Z; the clock was set back: the schedule goes on at "
                    + "2025-10-09T08:52:20Z, where it had been", false
            ),
            (try facts([notDue]), "starts by an event, after another job or by hand", false),
            (
                try facts(next: true, [notDue], failed: "no route"),
                "is due 2025-10-09T08:53:20Z", true
            ),
            (
                try facts(
                    open: run(.enqueued, failure: "no route"),
                    [deferral(.backoff, "backoff"), network]),
                "failed once, tries again: no route; waits for network: wanted w, is m, since "
                    + "2025-10-09T08:53:20Z", true
            ),
            (try facts(open: run(.enqueued)), "starts as soon as a scheduler runs", false),
            (
                try facts([notDue, deferral(.paused, "pause")]),
                "waits until w: it is paused (s)", true
            ),
        ]

        for (facts, words, isHeldBack) in rows {
            #expect(JobStatusReport.words(facts) == words)
            #expect(JobStatusReport.isHeldBack(facts) == isHeldBack, "\(words)")
        }
    }

    @Test func `a failed run is a failure until a run succeeds, unless the job is disabled`() throws
    {
        var disabled = try facts(failed: "no route")
        disabled.isDisabled = true

        #expect(JobStatusReport.failure(try facts()) == nil)
        #expect(
            JobStatusReport.failure(try facts(failed: "no route"))
                == JobFailure(run: 7, at: at, reason: "no route"))
        #expect(JobStatusReport.failure(disabled) == nil)
    }

    @Test func `a job waits for a login only while something asks for it`() throws {
        let login = deferral(.constraint, "login")
        let notDue = deferral(.notDue, "schedule")

        #expect(JobStatusReport.waitsForLogin(try facts(open: run(.enqueued), [login])))
        #expect(!JobStatusReport.waitsForLogin(try facts(next: true, [notDue, login])))
        #expect(!JobStatusReport.waitsForLogin(try facts(open: run(.running), [login])))
    }

    @Test(arguments: [
        (
            Deferral(
                .constraint, subject: "check", wanted: "`nas` passes", measured: "does not pass",
                source: "a command"),
            "for check `nas`, which does not pass"
        ),
        (
            Deferral(
                .constraint, subject: "check", wanted: "`nas` passes", measured: "not asked",
                source: "s"),
            "for check `nas`, which was not asked"
        ),
        (
            Deferral(
                .constraint, subject: "network", wanted: "unmetered", measured: "metered",
                source: "netlink"),
            "for network: wanted unmetered, is metered"
        ),
        (
            Deferral(
                .overlap, subject: "overlap", wanted: "no other run of the job",
                measured: "run 3, which is running", source: "lease of a"),
            "until run 3 has ended"
        ),
        (
            Deferral(
                .backoff, subject: "retry_after", wanted: "T or later", measured: "too early",
                source: "s"),
            "until T, as the backend asked"
        ),
        (
            Deferral(
                .paused, subject: "pause", wanted: "a resume", measured: "paused since T",
                source: "a person"),
            "until somebody resumes it: it is paused"
        ),
    ])
    func `a wait is a sentence`(deferral: Deferral, words: String) {
        #expect(deferral.wait == words)
    }
}
