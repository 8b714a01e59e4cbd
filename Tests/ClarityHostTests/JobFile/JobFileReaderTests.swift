import ClarityHost
import ClarityScheduler
import Testing

@Suite struct JobFileReaderTests {
    @Test func `a job that says nothing more gets the engine's standards`() throws {
        let file = try JobFileSamples.read(JobFileSamples.file(job: ""))

        let job = try #require(file.jobs.first)
        let id = try #require(JobID("a"))
        var expected = Job(id: id, kind: JobKind("refresh"))
        expected.options = [
            "backend.url": "https://clarity.example/api", "backend.dialect": "auto",
            "limits.requests": "60", "page_size": "100",
        ]
        #expect(job == expected)
        #expect(file.stateDirectory == nil)
        #expect(file.maxParallel == nil)
        #expect(file.disabled.isEmpty)
    }

    @Test func `every key of a job is read`() throws {
        let text =
            JobFileSamples.file(
                job: """
                    class: app-refresh
                    schedule: { cron: "0 6,18 * * *", time_zone: Europe/London, earliest_begin: 15m }
                    on: [source-changed, network-restored]
                    constraints:
                      network: not_roaming
                      external_power: true
                      battery_above: 20%
                      not_low_power: true
                      idle: true
                      storage_free: 500MiB
                      pressure_below: 40%
                    retry: { attempts: 3, backoff: linear, initial: 1m, maximum: 2h }
                    overlap: queue
                    catch_up: none
                    timeout: 25s
                    warning: 8s
                    memory_limit: 64MiB
                    then: [b]
                    options: { page_size: 7, full: true, label: 12, depth: week, folder: ~/out }
                    """)
            + "\n  - { id: b, kind: cleanup, options: { retain: 30d } }\n"

        let file = try JobFileSamples.read(text)

        let (a, b) = (try #require(JobID("a")), try #require(JobID("b")))
        let london = try Zone(
            identifier: "Europe/London", tzif: SampleZones.bytes(rule: "GMT0BST,M3.5.0/1,M10.5.0"))
        let shared = [
            "backend.url": "https://clarity.example/api", "backend.dialect": "auto",
            "limits.requests": "60",
        ]
        #expect(
            file.jobs == [
                Job(
                    id: a, kind: JobKind("refresh"), jobClass: .appRefresh,
                    schedule: .cron(try CronExpression("0 6,18 * * *"), london),
                    earliestBegin: .seconds(900), events: [.sourceChanged, .networkRestored],
                    constraints: [
                        .notRoaming, .externalPower, .batteryAbove(percent: 20), .notLowPower,
                        .idle, .storageFree(bytes: 500 << 20), .pressureBelow(percent: 40),
                    ],
                    retry: RetryPolicy(
                        attempts: 3, backoff: .linear, initial: .seconds(60),
                        maximum: .seconds(7200)),
                    overlap: .queue, catchUp: .none, timeout: .seconds(25), warning: .seconds(8),
                    memoryLimitBytes: 64 << 20, then: [b],
                    options: shared.merging([
                        "page_size": "7", "full": "true", "label": "12", "depth": "week",
                        "folder": "/home/ada/out",
                    ]) { $1 }),
                Job(
                    id: b, kind: JobKind("cleanup"),
                    options: shared.merging(["retain": "2592000000"]) { $1 }),
            ])
    }

    @Test func `every and at make schedules of their own`() throws {
        let every = try JobFileSamples.read(JobFileSamples.file(job: "schedule: { every: 1h30m }"))
        let at = try JobFileSamples.read(
            JobFileSamples.file(job: "schedule: { at: 2026-11-20T07:00:00+01:00 }"))

        #expect(every.jobs.first?.schedule == .every(.seconds(5400)))
        let instant = try #require(Instant(rfc3339: "2026-11-20T06:00:00Z"))
        #expect(at.jobs.first?.schedule == .at(instant))
    }

    @Test(arguments: [
        ("{ every: 1h, phase: 10m, flex: 5m }", "every 1h phase 10m flex 5m"),
        (
            "{ cron: '0 6 * * *', not_before: 2026-11-20T07:00:00+01:00 }",
            "cron 0 6 * * * Europe/Berlin not before 2026-11-20T06:00:00Z"
        ),
        (
            "{ calendar: Mon..Fri 06:00, time_zone: UTC, not_after: 2026-11-20T06:00:00Z }",
            "calendar Mon..Fri 06:00 UTC not after 2026-11-20T06:00:00Z"
        ),
        ("{ calendar: weekly }", "calendar weekly Europe/Berlin"),
        ("{ calendar: Mon 03:00 Europe/London }", "calendar Mon 03:00 Europe/London"),
        ("{ calendar: daily utc, time_zone: Europe/London }", "calendar daily utc"),
        ("{ cron: '*/90 * * * *' }", "cron */90 * * * * Europe/Berlin"),
        (
            "{ at: 2026-11-20T06:00:00Z, not_after: 2026-11-20T06:00:00Z }",
            "at 2026-11-20T06:00:00Z not after 2026-11-20T06:00:00Z"
        ),
        ("{ every: 4h, randomized_delay: 0s }", "every 4h"),
        ("15 2 * * *", "cron 15 2 * * * Europe/Berlin"),
        ("'@daily'", "cron @daily Europe/Berlin"),
        ("daily", "calendar daily Europe/Berlin"),
        ("Mon 02:15", "calendar Mon 02:15 Europe/Berlin"),
        ("02:15", "calendar 02:15 Europe/Berlin"),
        ("90m", "every 1h30m"),
    ])
    func `every key of a schedule is read`(schedule: String, text: String) throws {
        let file = try JobFileSamples.read(JobFileSamples.file(job: "schedule: \(schedule)"))

        #expect(file.jobs.first?.schedule?.description == text)
    }

    @Test(arguments: [
        ("03:00 America/New_York", "2026-11-20T08:00:00Z"), ("03:00 UTC", "2026-11-20T03:00:00Z"),
        ("03:00", "2026-11-20T02:00:00Z"),
    ])
    func `the zone of a calendar expression goes before that of its job`(
        calendar: String, first: String
    ) throws {
        let file = try JobFileSamples.read(
            JobFileSamples.file(
                job: """
                    schedule: { calendar: '\(calendar)', time_zone: Europe/Berlin }
                    constraints: { window: 01:00-05:00 }
                    """))

        let job = try #require(file.jobs.first)
        let start = try #require(Instant(rfc3339: "2026-11-20T00:00:00Z"))
        #expect(job.schedule?.next(after: start, anchor: start)?.description == first)
        // The windows still use the job's time zone.
        guard case .window(let windows) = job.constraints.first else {
            Issue.record("no window")
            return
        }
        #expect(windows.zone.identifier == "Europe/Berlin")
    }

    @Test(arguments: [
        ("schedule: { cron: '@reboot' }", ["boot"]),
        ("schedule: { cron: ' @reboot ', earliest_begin: 1h }", ["boot"]),
        ("schedule: { cron: '@reboot' }\non: [source-changed]", ["boot", "source-changed"]),
        ("on: [boot, clock-changed]", ["boot", "clock-changed"]),
        (
            "schedule: { cron: '@reboot', time_zone: UTC }\nconstraints: { window: 01:00-02:00 }",
            ["boot"]
        ),
    ])
    func `a job starts with the machine, or when its clock is set`(
        keys: String, events: [String]
    ) throws {
        let job = try #require(try JobFileSamples.read(JobFileSamples.file(job: keys)).jobs.first)

        #expect(job.events.map(\.rawValue).sorted() == events)
        #expect(job.schedule == nil)
    }

    @Test func `a randomized delay is the host's and the job's own`() throws {
        let text = JobFileSamples.file(job: "schedule: { cron: '@daily', randomized_delay: 1d }")

        let own = try JobFileSamples.read(text).jobs.first
        let other = try JobFileSamples.reader(host: "bob").read(Array(text.utf8), path: "jobs.yaml")

        let id = try #require(JobID("a"))
        let day: Duration = .seconds(86_400)
        #expect(own?.schedule?.delay == stableDelay(within: day, host: "ada", job: id))
        #expect(
            other.jobs.first?.schedule?.delay == stableDelay(within: day, host: "bob", job: id))
        #expect(own?.schedule?.delay != other.jobs.first?.schedule?.delay)
    }

    @Test func `a job takes from the defaults what it does not say, key by key`() throws {
        let text = JobFileSamples.file(
            job: """
                constraints: { network: none, idle: false, battery_above: 0%, storage_free: 0MiB }
                retry: { initial: 1m }
                """,
            top: """
                  - { id: b, kind: cleanup, overlap: skip, timeout: 10m }
                defaults:
                  max_parallel: 3
                  constraints:
                    { network: unmetered, idle: true, external_power: true, battery_above: 30%,
                      storage_free: 1GiB }
                  retry: { attempts: 9, maximum: 1h }
                  overlap: queue
                  catch_up: none
                  timeout: 5m
                  memory_limit: 32MiB
                """)

        let file = try JobFileSamples.read(text)

        let (a, b) = (try #require(file.jobs.first), try #require(file.jobs.last))
        #expect(a.constraints == [.externalPower])
        #expect(
            b.constraints == [
                .unmetered, .externalPower, .batteryAbove(percent: 30), .idle,
                .storageFree(bytes: 1 << 30),
            ])
        #expect(a.retry == RetryPolicy(attempts: 9, initial: .seconds(60), maximum: .seconds(3600)))
        #expect(b.retry == RetryPolicy(attempts: 9, maximum: .seconds(3600)))
        #expect([a.overlap, b.overlap] == [.queue, .skip])
        #expect([a.catchUp, b.catchUp] == [.none, .none])
        #expect([a.timeout, b.timeout] == [.seconds(300), .seconds(600)])
        #expect([a.memoryLimitBytes, b.memoryLimitBytes] == [32 << 20, 32 << 20])
        #expect(file.maxParallel == 3)
    }

    @Test(arguments: [
        ("{ cron: '0 6 * * *', time_zone: UTC }", "defaults: { time_zone: Europe/London }", "UTC"),
        ("{ cron: '0 6 * * *' }", "defaults: { time_zone: Europe/London }", "Europe/London"),
        ("{ cron: '0 6 * * *' }", "", "Europe/Berlin"),
        ("{ calendar: daily, time_zone: UTC }", "defaults: { time_zone: Europe/London }", "UTC"),
        ("{ calendar: daily }", "defaults: { time_zone: Europe/London }", "Europe/London"),
    ])
    func `a schedule runs in its own zone, else the file's, else the machine's`(
        schedule: String, top: String, zone: String
    ) throws {
        let file = try JobFileSamples.read(
            JobFileSamples.file(job: "schedule: \(schedule)", top: top))

        #expect(file.jobs.first?.schedule?.description.hasSuffix(" \(zone)") == true)
    }

    @Test func `sections are flattened into the settings and every job's options`() throws {
        let text = """
            version: 1
            store: { directory: state }
            backend: { url: "http://[::1]:8787/api", dialect: loop }
            sources:
              - { kind: spool, path: ./inbox }
              - { path: /data/export.zip, kind: apple-health-export }
            limits: {}
            jobs:
              - { id: a, kind: bulk-upload }
            """

        let file = try JobFileSamples.read(text, path: "conf/jobs.yaml")

        let settings = [
            "backend.url": "http://[::1]:8787/api", "backend.dialect": "loop",
            "sources.0.kind": "spool", "sources.0.path": "/srv/clarity/conf/inbox",
            "sources.0.recursive": "false", "sources.1.kind": "apple-health-export",
            "sources.1.path": "/data/export.zip", "limits.requests": "60",
        ]
        #expect(file.sections.options == settings)
        #expect(file.jobs.first?.options == settings)
        #expect(file.stateDirectory == "/srv/clarity/conf/state")
    }

    @Test(arguments: [
        ("[]", ""), ("[a]", "a"), ("[a b, \"c=\"]", "a b\nc="),
    ])
    func `a list of texts is handed on with one on each line`(list: String, text: String) throws {
        let file = try JobFileSamples.read(
            """
            version: 1
            backend: { url: "http://127.0.0.1/" }
            limits: { names: \(list) }
            jobs: []
            """)

        #expect(file.sections.options["limits.names"] == text)
    }

    @Test(arguments: [
        ("a", "3:18: `names` of `limits` is text, wanted a list\nhelp: write `[a]`"),
        ("[a, a]", "3:22: `names` of `limits` has `a` twice"),
        (
            #"["a\nb"]"#,
            "3:19: entry 1 of `names` of `limits` is empty or has a line break or another "
                + "control character, wanted one line"
        ),
        (
            #"[""]"#,
            "3:19: entry 1 of `names` of `limits` is empty or has a line break or another "
                + "control character, wanted one line"
        ),
    ])
    func `what is no list of different texts is a fault`(list: String, fault: String) {
        let faults = JobFileSamples.faults(
            """
            version: 1
            backend: { url: "http://127.0.0.1/" }
            limits: { names: \(list) }
            jobs: []
            """)

        #expect(faults == ["jobs.yaml:" + fault])
    }

    @Test(arguments: [
        ("jobs.yaml", "/srv/clarity/x"), ("./jobs.yaml", "/srv/clarity/./x"),
        ("/etc/clarity/jobs.yaml", "/etc/clarity/x"), ("/jobs.yaml", "/x"),
        ("../jobs.yaml", "/srv/clarity/../x"),
    ])
    func `a relative path counts from the job file's folder`(path: String, expected: String) throws
    {
        let text = JobFileSamples.file(job: "", top: "store: { directory: x }")

        let file = try JobFileSamples.read(text, path: path)

        #expect(file.stateDirectory == expected)
    }

    @Test func `a disabled job is listed and checked but not planned`() throws {
        let text = JobFileSamples.file(
            job: "then: { succeeded: [b, c], failed: [c, b] }",
            top: """
                  - { id: b, kind: cleanup, enabled: false }
                  - { id: c, kind: cleanup, enabled: true }
                """)

        let file = try JobFileSamples.read(text)
        let faults = JobFileSamples.faults(text.replacing("enabled: false", with: "enabled: fals"))

        let (b, c) = (try #require(JobID("b")), try #require(JobID("c")))
        #expect(file.jobs.map(\.id.rawValue) == ["a", "b", "c"])
        #expect(file.jobs.first?.then == [b, c])
        #expect(file.jobs.first?.thenFailed == [c, b])
        #expect(file.disabled == [b])
        #expect(file.enabledJobs.map(\.id.rawValue) == ["a", "c"])
        #expect(file.enabledJobs.first?.then == [c])
        #expect(file.enabledJobs.first?.thenFailed == [c])
        #expect(faults.count == 1)
    }

    @Test func `a chain of ten thousand jobs is read`() throws {
        var text = "version: 1\nbackend: { url: 'https://clarity.example' }\njobs:\n"
        for number in 0..<10_000 {
            let then = number < 9999 ? ", then: [j\(number + 1)]" : ""
            text += "  - { id: j\(number), kind: cleanup\(then) }\n"
        }

        let file = try JobFileSamples.read(text)

        #expect(file.jobs.count == 10_000)
    }

    @Test func `a file without jobs is a file`() throws {
        let file = try JobFileSamples.read(
            "version: 1\nbackend: { url: 'https://clarity.example' }\njobs: []\n")

        #expect(file.jobs.isEmpty)
    }
}
