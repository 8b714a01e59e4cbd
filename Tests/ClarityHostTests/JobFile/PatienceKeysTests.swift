import ClarityHost
import ClarityScheduler
import Testing

@Suite("The keys of how a job waits, gives way and catches up")
struct PatienceKeysTests {
    private func job(_ keys: String, top: String = "") throws -> Job {
        let file = try JobFileSamples.read(JobFileSamples.file(job: keys, top: top))
        return try #require(file.jobs.first)
    }

    @Test func `each key has its place in the job`() throws {
        let job = try job(
            """
            priority: high
            start_within: 10h
            stall: 2m
            expect: 5m
            overlap: replace
            on_lost: { finish_within: 90s }
            constraints: { idle: true, external_power: true }
            relax: [{ after: 8h, drop: external_power }, { after: 70%, drop: idle }]
            catch_up: { at_most: 5, within: 7d, spread: 1h }
            """)

        #expect(job.priority == .high)
        #expect(job.startWithin == .seconds(36_000))
        #expect(job.stall == .seconds(120))
        #expect(job.expected == .seconds(300))
        #expect(job.overlap == .replace)
        #expect(job.onLost == .finishWithin(.seconds(90)))
        #expect(
            job.relaxations == [
                Relaxation(after: .seconds(7 * 3600), drops: "idle"),
                Relaxation(after: .seconds(8 * 3600), drops: "external_power"),
            ])
        #expect(
            job.catchUp
                == .all(
                    CatchUpBounds(
                        atMost: 5, window: .seconds(7 * 86_400), spread: .seconds(3600))))
    }

    @Test(arguments: [
        ("latest", CatchUpPolicy.latest), ("none", .none), ("all", .all(CatchUpBounds())),
        ("{}", .all(CatchUpBounds())),
    ])
    func `what is missed is caught up by a word or within bounds`(
        text: String, policy: CatchUpPolicy
    ) throws {
        #expect(try job("catch_up: \(text)").catchUp == policy)
    }

    @Test(arguments: [("stop", LossPolicy.stop), ("finish", .finish)])
    func `a lost constraint stops an attempt or lets it finish`(
        text: String, policy: LossPolicy
    ) throws {
        #expect(try job("on_lost: \(text)").onLost == policy)
    }

    @Test func `defaults say it for all jobs, and a job says otherwise`() throws {
        let top =
            "defaults: { start_within: 1h, stall: 1m, expect: 2m, on_lost: finish, catch_up: all }"

        let silent = try job("", top: top)
        let own = try job("start_within: 2h\nstall: 3m\non_lost: stop", top: top)

        #expect(silent.startWithin == .seconds(3600))
        #expect(silent.stall == .seconds(60))
        #expect(silent.expected == .seconds(120))
        #expect(silent.onLost == .finish)
        #expect(silent.catchUp == .all(CatchUpBounds()))
        #expect(own.startWithin == .seconds(7200))
        #expect(own.stall == .seconds(180))
        #expect(own.onLost == .stop)
    }

    @Test func `what the history keeps is the standard or what the file says`() throws {
        let plain = try JobFileSamples.read(
            "version: 1\nbackend: { url: https://example.com }\njobs: []")
        let told = try JobFileSamples.read(
            """
            version: 1
            backend: { url: https://example.com }
            store:
              history: { keep_runs: 50, keep_for: 30d, keep_failures_for: 60d, max_size: 8MiB }
            jobs: []
            """)

        #expect(plain.retention == RetentionPolicy())
        #expect(
            told.retention
                == RetentionPolicy(
                    runs: 50, age: .seconds(30 * 86_400), failureAge: .seconds(60 * 86_400),
                    bytes: 8 << 20))
    }

    @Test(arguments: [
        MessageCase(
            job: "catch_up: whatever",
            """
            jobs.yaml:6:15: unknown catch_up `whatever`
            help: write `latest`, `none` or `all`
            """),
        MessageCase(
            job: "catch_up: [all]",
            "jobs.yaml:6:15: `catch_up` of job `a` is a list, wanted text or a mapping"),
        MessageCase(
            job: "on_lost: {}", "jobs.yaml:6:14: `on_lost` of job `a` has no `finish_within`"),
        MessageCase(
            job: "constraints: { idle: true }\nrelax: [{ after: 70%, drop: idle }]",
            """
            jobs.yaml:7:22: `after` `70%` is a share of `start_within`, which the job does not have
            help: give `start_within`, or `after` as a span
            """),
        MessageCase(
            job: "relax: [{ after: 3h, drop: idle }]",
            "jobs.yaml:6:32: `relax` drops `idle`, which the job does not ask for"),
        MessageCase(
            job: "relax: [{ after: 3h, drop: pressure_belo }]",
            "jobs.yaml:6:32: unknown constraint `pressure_belo`; did you mean `pressure_below`?"),
        MessageCase(
            job: "relax: [{ after: 0%, drop: idle }]",
            "jobs.yaml:6:22: after `0%` is out of range, wanted 1% to 99%"),
        MessageCase(
            job: "priority: urgent",
            """
            jobs.yaml:6:15: unknown priority `urgent`
            help: write `low`, `normal` or `high`
            """),
    ])
    func `a fault in them is told with its place`(message: MessageCase) {
        #expect(JobFileSamples.faults(message.text) == message.printed)
    }
}
