@testable import ClarityHost
import ClarityScheduler
import Testing

@Suite("How a job file says what conditions are and what they count as")
struct ConditionKeysTests {
    private func file(_ keys: String, top: String = "") throws -> JobFile {
        try JobFileSamples.read(JobFileSamples.file(job: keys, top: top))
    }

    private func job(_ keys: String, top: String = "") throws -> Job {
        try #require(try file(keys, top: top).jobs.first)
    }

    // MARK: conditions

    @Test func `interfaces are told apart in the file's order`() throws {
        let settings = try file(
            "",
            top: """
                conditions:
                  interfaces: { "wwan*": metered, wlan0: unmetered, "wlan?": roaming, "*": metered }
                  idle: { load_below: 25% }
                """
        ).conditions

        #expect(
            settings
                == ConditionSettings(
                    interfaces: InterfaceRules([
                        .init("wwan*", .metered), .init("wlan0", .unmetered),
                        .init("wlan?", .roaming), .init("*", .metered),
                    ]), idleLoadBelowPercent: 25))
    }

    @Test func `without the section nothing is said`() throws {
        let settings = try file("").conditions

        #expect(settings == ConditionSettings())
    }

    @Test(arguments: [
        (
            "interfaces: { wwan0: meterd }",
            "36: unknown kind of connection `meterd`; did you mean `metered`?"
        ),
        (
            "interfaces: { wwan0: cheap }",
            """
            36: unknown kind of connection `cheap`
            help: write `metered`, `unmetered` or `roaming`
            """
        ),
        (
            "interfaces: { wwan0: }",
            "36: `wwan0` of `interfaces` of `conditions` is empty, wanted text"
        ),
        (
            "interfaces: { \"wlan[01]\": metered }",
            """
            29: interface `wlan[01]` is not allowed
            help: write a name such as `wlan0`, or `wwan*`: `*` stands for any characters, `?` \
            for one
            """
        ),
        (
            "interfaces: { \"w*\": metered, wlan0: unmetered }",
            "44: `wlan0` of `interfaces` of `conditions` never counts: `w*` comes before it and "
                + "matches it"
        ),
        (
            "interfaces: [wwan0]",
            "27: `interfaces` of `conditions` is a list, wanted a mapping"
        ),
        (
            "interfaces: { wwan0: metered, wwan0: roaming }",
            "45: duplicate key `wwan0`; first at line 7"
        ),
        ("idle: {}", "21: `idle` of `conditions` has no `load_below`"),
        ("idle: { load_below: 0% }", "35: load_below `0%` is out of range, wanted 1% to 400%"),
        ("idle: { load_below: 25 }", "35: load_below `25` has no unit; write `25%`"),
        ("probe: example.org", "22: probe does not start with `https://`"),
        (
            "probe: \"https://a:b@example.org\"",
            """
            22: probe holds a user name or password
            help: secrets never stand in a job file
            """
        ),
    ])
    func `what is wrong in it is told with its place`(conditions: String, printed: String) {
        let text = JobFileSamples.file(job: "", top: "conditions: { \(conditions) }")

        #expect(JobFileSamples.faults(text) == ["jobs.yaml:7:" + printed])
    }

    // MARK: storage_free

    @Test func `free space is wanted at the state or by path`() throws {
        let state = try job("constraints: { storage_free: 500MiB }")
        let paths = try job(
            "constraints: { storage_free: { ~/Health: 2GiB, inbox: 1KiB, /mnt: 0MiB }, idle: true }"
        )

        #expect(state.constraints == [.storageFree(bytes: 500 << 20)])
        #expect(
            paths.constraints == [
                .idle, .storageFree(bytes: 2 << 30, path: "/home/ada/Health"),
                .storageFree(bytes: 1024, path: "/srv/clarity/inbox"),
            ])
    }

    @Test func `a job that names paths does without what defaults want at the state`() throws {
        let job = try job(
            "constraints: { storage_free: { /mnt: 1GiB } }",
            top: "defaults: { constraints: { storage_free: 1GiB, idle: true } }")

        #expect(job.constraints == [.idle, .storageFree(bytes: 1 << 30, path: "/mnt")])
    }

    @Test(arguments: [
        MessageCase(
            job: "constraints: { storage_free: { /home/ada/x: 1GiB, ~/x: 2GiB } }",
            "jobs.yaml:6:55: `storage_free` of `constraints` of job `a` has `/home/ada/x` twice"),
        MessageCase(
            job: "constraints: { storage_free: { /mnt: 1 } }",
            "jobs.yaml:6:42: /mnt `1` has no unit; write `1MiB` or `1GiB`"),
        MessageCase(
            job: "constraints: { storage_free: { ~eve/x: 1GiB } }",
            """
            jobs.yaml:6:36: storage_free `~eve/x` starts with another user's home folder
            help: write the whole path; only `~/` is understood
            """),
        MessageCase(
            job: "constraints: { storage_free: [1GiB] }",
            "jobs.yaml:6:34: `storage_free` of `constraints` of job `a` is a list, wanted a size "
                + "or a mapping"),
        MessageCase(
            job: "constraints: { storage_free: }",
            "jobs.yaml:6:34: `storage_free` of `constraints` of job `a` is empty, wanted a size "
                + "or a mapping"),
    ])
    func `free space that cannot be looked at is told with its place`(message: MessageCase) {
        #expect(JobFileSamples.faults(message.text) == message.printed)
    }

    // MARK: window

    @Test(arguments: [
        ("22:00-06:00", ["22:00-06:00"]), ("[\"22:00-06:00\"]", ["22:00-06:00"]),
        (
            "[\"Mon..Fri 22:00-06:00\", \"Sat,Sun 00:00-24:00\"]",
            ["Mon..Fri 22:00-06:00", "Sat,Sun 00:00-24:00"]
        ),
    ])
    func `a window is one stretch of the day or several`(
        written: String, texts: [String]
    ) throws {
        let job = try job("constraints: { check: [], window: \(written), idle: true }")

        let windows = try texts.map { try Window($0) }
        #expect(
            job.constraints == [.idle, .window(Windows(windows, in: try zone("Europe/Berlin")))])
    }

    @Test(arguments: [
        ("schedule: { cron: '@daily', time_zone: Europe/London }", "UTC", "Europe/London"),
        ("schedule: { every: 1h, time_zone: Europe/London }", "UTC", "Europe/London"),
        ("schedule: { every: 1h }", "UTC", "UTC"), ("", "UTC", "UTC"),
        ("", "", "Europe/Berlin"),
    ])
    func `a window is on the schedule's clock, else the file's, else the machine's`(
        schedule: String, standard: String, wanted: String
    ) throws {
        let job = try job(
            "constraints: { window: 22:00-06:00 }\n\(schedule)",
            top: standard.isEmpty ? "" : "defaults: { time_zone: \(standard) }")

        let windows = try [Window("22:00-06:00")]
        #expect(job.constraints == [.window(Windows(windows, in: try zone(wanted)))])
    }

    private func zone(_ name: String) throws -> Zone {
        try Zone(identifier: name, tzif: try #require(SampleZones().tzif(for: name)))
    }

    @Test func `an empty list takes back the windows of defaults`() throws {
        let top = "defaults: { constraints: { window: 22:00-06:00 } }"

        #expect(try job("", top: top).constraints.map(\.name) == ["window"])
        #expect(try job("constraints: { window: [] }", top: top).constraints == [])
    }

    @Test(arguments: [
        MessageCase(
            job: "constraints: { window: 25:00-06:00 }",
            "jobs.yaml:6:28: window `25:00-06:00` is not understood, wanted two times from "
                + "`00:00` to `24:00`"),
        MessageCase(
            job: "constraints: { window: [\"Mon/Fri 22:00-06:00\", nights] }",
            "jobs.yaml:6:29: window `Mon/Fri 22:00-06:00` is not understood, wanted weekdays such "
                + "as `Mon..Fri` or `Sat,Sun`",
            "jobs.yaml:6:52: window `nights` is not understood, wanted a time of day such as "
                + "`22:00-06:00` or `Mon..Fri 09:00-17:00`"),
        MessageCase(
            job: "constraints: { window: [\"22:00-06:00\", \"22:00-06:00\"] }",
            "jobs.yaml:6:44: `window` of `constraints` of job `a` has `22:00-06:00` twice"),
        MessageCase(
            job: "constraints: { window: { from: 22:00 } }",
            "jobs.yaml:6:28: `window` of `constraints` of job `a` is a mapping, wanted a time of "
                + "day or a list"),
        MessageCase(
            job: "constraints: { window: 22:00-06:00 }\nrelax: [{ after: 1h, drop: check }]",
            "jobs.yaml:7:32: `relax` drops `check`, which the job does not ask for"),
    ])
    func `a window that is none is told with its place`(message: MessageCase) {
        #expect(JobFileSamples.faults(message.text) == message.printed)
    }

    @Test func `windows beyond counting are refused`() {
        let windows = (0..<337).map { "\"0\($0 / 60):\($0 % 60 / 10)\($0 % 10)-12:00\"" }
        let text = JobFileSamples.file(
            job: "constraints: { window: [\(windows.joined(separator: ", "))] }")

        #expect(
            JobFileSamples.faults(text) == [
                "jobs.yaml:6:28: `window` of `constraints` of job `a` has 337 entries, wanted at "
                    + "most 336"
            ])
    }

    @Test func `a machine without a zone is told where each window stands`() {
        let text = JobFileSamples.file(
            job: "constraints: { window: 22:00-06:00 }",
            top: "  - { id: b, kind: cleanup }\n"
                + "defaults: { constraints: { window: 01:00-02:00 } }")

        let help = "\nhelp: that is what the machine says; name one with `time_zone`"
        #expect(
            JobFileSamples.faults(text, localZone: "Mars/Olympus") == [
                "jobs.yaml:6:28: unknown time zone `Mars/Olympus`" + help,
                "jobs.yaml:7:5: unknown time zone `Mars/Olympus`" + help,
            ])
    }

    // MARK: unknown

    @Test func `what is unknown counts as the job says, else as defaults do`() throws {
        let top = "defaults: { constraints: { unknown: { network: wait, idle: wait } } }"

        let own = try job("constraints: { unknown: { idle: run, check: run } }", top: top)
        let silent = try job("constraints: { idle: true }", top: top)

        #expect(own.unknownRules == ["network": .wait, "idle": .run, "check": .run])
        #expect(silent.unknownRules == ["network": .wait, "idle": .wait])
        #expect(try job("").unknownRules == [:])
    }

    @Test(arguments: [
        MessageCase(
            job: "constraints: { unknown: { idel: run } }",
            "jobs.yaml:6:31: unknown key `idel` in `unknown` of `constraints` of job `a`; "
                + "did you mean `idle`?"),
        MessageCase(
            job: "constraints: { unknown: { window: run } }",
            """
            jobs.yaml:6:31: unknown key `window` in `unknown` of `constraints` of job `a`
            help: its keys are `network`, `external_power`, `battery_above`, `not_low_power`, \
            `idle`, `storage_free`, `pressure_below` and `check`
            """),
        MessageCase(
            job: "constraints: { unknown: { idle: maybe } }",
            """
            jobs.yaml:6:37: unknown idle `maybe`
            help: write `run` or `wait`
            """),
        MessageCase(
            job: "constraints: { unknown: run }",
            "jobs.yaml:6:29: `unknown` of `constraints` of job `a` is text, wanted a mapping"),
        MessageCase(
            job: "relax: [{ after: 1h, drop: unknown }]",
            """
            jobs.yaml:6:32: unknown constraint `unknown`
            help: write `network`, `external_power`, `battery_above`, `not_low_power`, `idle`, \
            `storage_free`, `pressure_below`, `window` or `check`
            """),
    ])
    func `a rule for the unknown that is none is told with its place`(message: MessageCase) {
        #expect(JobFileSamples.faults(message.text) == message.printed)
    }
}
