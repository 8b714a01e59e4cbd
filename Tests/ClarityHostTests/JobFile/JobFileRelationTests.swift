import ClarityScheduler
import Testing

@testable import ClarityHost

@Suite("What keys of a job file say together")
struct JobFileRelationTests {
    @Test(arguments: [
        MessageCase(
            job: "", top: "  - { id: a, kind: cleanup }",
            "jobs.yaml:7:11: duplicate job id `a`; first at line 4"),
        MessageCase(
            job: "then: [bb]", top: "  - { id: bbb, kind: cleanup }",
            "jobs.yaml:6:12: unknown job `bb` in `then` of job `a`; did you mean `bbb`?"),
        MessageCase(
            job: "then: [com.clarity.cleanup]",
            """
            jobs.yaml:6:12: unknown job `com.clarity.cleanup` in `then` of job `a`
            help: no job of this file has that id
            """),
        MessageCase(
            job: "then: [b, b]", top: "  - { id: b, kind: cleanup }",
            "jobs.yaml:6:15: `then` of job `a` has `b` twice"),
        MessageCase(
            job: "then: [a]", "jobs.yaml:6:11: job `a` starts itself (`then`)"),
        MessageCase(
            job: "then: [c]",
            top: "  - { id: b, kind: cleanup, then: [a] }\n"
                + "  - { id: c, kind: cleanup, then: [d, b] }\n  - { id: d, kind: cleanup }",
            "jobs.yaml:6:11: jobs `a`, `c` and `b` start one another in a circle (`then`)"),
        MessageCase(
            job: "then: [b]",
            top: "  - { id: b, kind: cleanup, then: [c] }\n"
                + "  - { id: c, kind: cleanup, then: [b] }",
            "jobs.yaml:7:35: jobs `b` and `c` start one another in a circle (`then`)"),
        MessageCase(
            job: "then: { failed: [a] }", "jobs.yaml:6:11: job `a` starts itself (`then`)"),
        MessageCase(
            job: "then: { failed: [b] }", top: "  - { id: b, kind: cleanup, then: [a] }",
            "jobs.yaml:6:11: jobs `a` and `b` start one another in a circle (`then`)"),
        MessageCase(
            job: "then: { succeeded: [bb], failed: [c] }", top: "  - { id: bbb, kind: cleanup }",
            "jobs.yaml:6:25: unknown job `bb` in `then` of job `a`; did you mean `bbb`?",
            """
            jobs.yaml:6:39: unknown job `c` in `then` of job `a`
            help: no job of this file has that id
            """),
        MessageCase(
            job: "schedule: { cron: '@reboot', randomized_delay: 5m, time_zone: UTC }",
            "jobs.yaml:6:52: `randomized_delay` of `schedule` of job `a` has no effect on "
                + "`@reboot`",
            "jobs.yaml:6:67: `time_zone` of `schedule` of job `a` has no effect on `@reboot`"),
        MessageCase(
            job: "schedule: { cron: '@reboot', not_before: 2026-11-20T06:00:00Z }",
            "jobs.yaml:6:46: `not_before` of `schedule` of job `a` has no effect on `@reboot`"),
        MessageCase(
            job: "schedule: { every: 1h, cron: '0 0 * * *' }",
            "jobs.yaml:6:15: `schedule` of job `a` has `every` and `cron`, wanted one of them"),
        MessageCase(
            job: "schedule: { every: 1h, time_zone: UTC }",
            "jobs.yaml:6:39: `time_zone` of `schedule` of job `a` has no `cron` or `calendar` to "
                + "serve"),
        MessageCase(
            job: "schedule: { calendar: daily, phase: 1h }",
            "jobs.yaml:6:41: `phase` of `schedule` of job `a` has no `every` to serve"),
        MessageCase(
            job: "schedule: { cron: '@daily', flex: 1h }",
            "jobs.yaml:6:39: `flex` of `schedule` of job `a` has no `every` to serve"),
        MessageCase(
            job: "schedule: { every: 1h, phase: 60m, flex: 2h, randomized_delay: 1h1m }",
            "jobs.yaml:6:35: phase `1h` is not less than the period of `1h`",
            "jobs.yaml:6:46: flex `2h` is not less than the period of `1h`",
            "jobs.yaml:6:68: randomized_delay `1h1m` is not less than the period of `1h`"),
        MessageCase(
            job: "schedule: { every: 1h, not_before: 2026-11-20T07:00:00+01:00, "
                + "not_after: 2026-11-20T05:59:59Z }",
            "jobs.yaml:6:78: not_after `2026-11-20T05:59:59Z` is before the not_before "
                + "`2026-11-20T06:00:00Z`"),
        MessageCase(
            job: "schedule: { cron: '@daily', time_zone: UTC, not_before: 2026-11-20T06:00:00Z, "
                + "not_after: 2026-11-20T18:00:00Z }",
            "jobs.yaml:6:94: `schedule` of job `a` names nothing within `not_before` and "
                + "`not_after`"),
        MessageCase(
            job: "schedule: { at: 2026-11-20T06:00:00Z, not_before: 2026-11-20T06:00:01Z }",
            "jobs.yaml:6:55: `schedule` of job `a` names nothing within `not_before`"),
        MessageCase(
            job: "schedule: { calendar: '2030-01-01', not_after: 2029-12-31T00:00:00Z }",
            "jobs.yaml:6:52: `schedule` of job `a` names nothing within `not_after`"),
        MessageCase(
            job: "timeout: 10s\nwarning: 10s",
            "jobs.yaml:7:14: warning `10s` is not less than the timeout of `10s`"),
        MessageCase(
            job: "class: app-refresh\nwarning: 1m",
            "jobs.yaml:7:14: warning `1m` is not less than the timeout of `30s`"),
        MessageCase(
            job: "retry: { initial: 1h, maximum: 30m }",
            "jobs.yaml:6:23: initial wait `1h` is longer than the maximum `30m`"),
        MessageCase(
            job: "retry: { initial: 2m }", top: "defaults: { retry: { maximum: 1m } }",
            "jobs.yaml:6:23: initial wait `2m` is longer than the maximum `1m`"),
        MessageCase(
            job: "retry: { attempts: 2 }", top: "defaults: { retry: { maximum: 20s } }",
            "jobs.yaml:7:31: initial wait `30s` is longer than the maximum `20s`"),
    ])
    func `keys that contradict one another are reported`(message: MessageCase) {
        #expect(JobFileSamples.faults(message.text) == message.printed)
    }

    @Test func `of a long circle the first eight jobs are named`() {
        let jobs = (1...30).map { "  - { id: j\($0), kind: cleanup, then: [j\($0 % 30 + 1)] }" }
        let text = JobFileSamples.file(job: "", top: jobs.joined(separator: "\n"))

        #expect(
            JobFileSamples.faults(text) == [
                """
                jobs.yaml:7:36: jobs `j1`, `j2`, `j3`, `j4`, `j5`, `j6`, `j7`, `j8` and 22 more \
                start one another in a circle (`then`)
                """
            ])
    }

    @Test func `a machine whose zone has no name must be told one`() {
        let text = JobFileSamples.file(job: "schedule: { cron: '0 0 * * *' }")

        let faults = JobFileSamples.faults(text, localZone: "CET-1CEST")

        #expect(
            faults == [
                """
                jobs.yaml:6:23: unknown time zone `CET-1CEST`
                help: that is what the machine says; name one with `time_zone`
                """
            ])
    }

    @Test func `a machine's zone that has no name is a fault where it counts, else a warning`()
        throws
    {
        let reader = JobFileSamples.reader(localZone: "/etc/localtime")
        let counting = JobFileSamples.file(job: "schedule: { cron: '0 0 * * *' }")
        let other = JobFileSamples.file(job: "schedule: { every: 4h }")

        let file = try reader.read(
            Array(other.utf8), path: "jobs.yaml", warningAt: Instant(millisecondsSince1970: 0))

        #expect(
            JobFileSamples.faults(counting, localZone: "/etc/localtime") == [
                """
                jobs.yaml:6:23: no installed time zone equals `/etc/localtime`
                help: that is what the machine says; name one with `time_zone`
                """
            ])
        #expect(
            file.warnings.map { $0.text(path: "jobs.yaml", isWarning: true) } == [
                """
                jobs.yaml:1:1: warning: no installed time zone equals `/etc/localtime`, so that times \
                of this machine are shown in UTC
                help: give the name of its time zone in the variable `TZ`
                """
            ])
    }

    @Test(arguments: ["Europe/London", "europe/london", nil])
    func `a machine without time zones is told how to get them`(name: String?) {
        let zone = name.map { ", time_zone: \($0)" } ?? ""
        let text = JobFileSamples.file(job: "schedule: { cron: '0 0 * * *'\(zone) }")

        let faults = JobFileSamples.faults(text, zones: SampleZones(isEmpty: true))

        #expect(
            faults == [
                """
                jobs.yaml:6:\(name == nil ? 23 : 47): time zone `\(name ?? "Europe/Berlin")` is not \
                installed
                help: install the time zones (Debian's package tzdata)
                """
            ])
    }

    @Test func `UTC needs no installed time zones`() {
        let text = JobFileSamples.file(job: "schedule: { cron: '0 0 * * *' }")

        let faults = JobFileSamples.faults(
            text, localZone: "UTC", zones: SampleZones(isEmpty: true))

        #expect(faults == [])
    }

    @Test func `a fault of a schedule hides no other of it`() {
        let text = JobFileSamples.file(
            job: "schedule: { every: 1 hour, phase: 5m, time_zone: UTC, not_before: today }")

        #expect(
            JobFileSamples.faults(text) == [
                """
                jobs.yaml:6:24: every `1 hour` is not a span of time
                help: write it as `1h`
                """,
                "jobs.yaml:6:54: `time_zone` of `schedule` of job `a` has no `cron` or `calendar` "
                    + "to serve",
                """
                jobs.yaml:6:71: not_before `today` is not an instant
                help: write it as `2026-11-20T06:00:00Z` or `2026-11-20T07:00:00+01:00`
                """,
            ])
    }

    @Test func `a file with eight faults is told all eight, by position`() {
        let text = """
            version: 1
            backend: { url: http://clarity.example, dialekt: auto }
            jobs:
              - id: a
                kind: refrsh
                timeout: 90
                retrys: {}
                then: [c]
              - id: a
                kind: cleanup
                options: { retain: 5 years }
            """

        let faults = JobFileSamples.faults(text)

        #expect(
            faults == [
                """
                jobs.yaml:2:17: url leads to `clarity.example` over http, where anybody on the way \
                can read it
                help: use https; http is for `localhost`, `127.0.0.1` and `[::1]` only
                """,
                "jobs.yaml:2:41: unknown key `dialekt` in `backend`; did you mean `dialect`?",
                "jobs.yaml:5:11: unknown kind `refrsh`; did you mean `refresh`?",
                "jobs.yaml:6:14: timeout `90` has no unit; write `90s`, `90m` or `90h`",
                "jobs.yaml:7:5: unknown key `retrys` in job `a`; did you mean `retry`?",
                """
                jobs.yaml:8:12: unknown job `c` in `then` of job `a`
                help: no job of this file has that id
                """,
                "jobs.yaml:9:9: duplicate job id `a`; first at line 4",
                """
                jobs.yaml:11:24: retain `5 years` is not a span of time
                help: write it as `30s`, `15m`, `6h`, `90d` or `1h30m`
                """,
            ])
    }
}
