import ClarityHost
import ClarityScheduler
import ClarityTestSupport
import Platform
@testable import ProgramTestSupport
import Testing

/// `history waits` through the built program, on a history that the engine has made on a simulated
/// clock. What it says of other conditions is compared with the same days under these conditions.
@Suite("history waits", .timeLimit(.minutes(3)))
struct WaitsProgramTests {
    private static let start = Instant(secondsSince1970: 1_793_491_200)  // 2026-11-01T00:00:00Z
    private static let end = start + .seconds(2 * 86_400)

    /// The hours of each day in which a condition does not hold.
    private struct Days {
        var metered: [Range<Double>] = []
        var busy: [Range<Double>] = []

        func conditions(_ instant: Instant) -> Conditions {
            let hour = Double((instant - start).milliseconds % 86_400_000) / 3_600_000
            var conditions = Conditions()
            conditions.connected = Conditions.Reading(true, source: "test")
            conditions.metered = Conditions.Reading(
                metered.contains { $0.contains(hour) }, source: "test")
            conditions.idle = Conditions.Reading(
                !busy.contains { $0.contains(hour) }, source: "test")
            return conditions
        }

        func nextChange(_ instant: Instant) -> Instant? {
            let day = (instant - start).milliseconds / 86_400_000
            let hours = (metered + busy).flatMap { [$0.lowerBound, $0.upperBound] }
            return (day...day + 1).flatMap { day in
                hours.map { start + .milliseconds(day * 86_400_000 + Int64($0 * 3_600_000)) }
            }.filter { $0 > instant }.min()
        }
    }

    private func playground() async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            defaults: { time_zone: UTC }
            jobs:
              - { id: hourly, kind: command, schedule: "0 * * * *", options: { command: [/bin/true] },
                  constraints: { network: unmetered, idle: true } }
              - { id: brief, kind: command, schedule: "0 * * * *", options: { command: [/bin/true] },
                  constraints: { network: unmetered, idle: true }, start_within: 90m,
                  catch_up: none }

            """
        }
    }

    private func simulation(_ playground: Playground, _ days: Days) throws -> Simulation {
        let file = try JobFileReader(
            catalogue: JobCatalogue(kinds: [.command], sections: []), environment: [:],
            workingDirectory: "/"
        ).read(fileAt: playground.jobFilePath)
        return Simulation(
            file.jobs, maxParallel: 2, over: WaitsProgramTests.start..<WaitsProgramTests.end,
            conditions: days.conditions, nextChange: days.nextChange,
            attempt: { _ in .seconds(30) })
    }

    /// Makes the history of two days.
    private func live(_ playground: Playground, _ days: Days) throws {
        let store = try SQLiteRunStore(
            in: StateDirectory(path: playground.statePath), uniqueNumber: 1)
        _ = try simulation(playground, days).totals(on: store, owner: store.leaseLock.owner)
        store.end()
    }

    /// Returns the number of runs of a job that would have started in these two days.
    private func runs(of job: String, _ playground: Playground, _ days: Days) throws -> Int {
        try simulation(playground, days).run().runs.count {
            $0.run.job.rawValue == job && $0.run.startedAt != nil
        }
    }

    private func waits(_ playground: Playground, _ words: String...) async throws -> ProgramResult {
        try await playground.start(
            ["history", "waits", "--now", "2026-11-03T00:00:00Z"] + words
        ).finish()
    }

    @Test func `one reason: as many runs as there would have been without it`() async throws {
        let playground = try await playground()
        let days = Days(metered: [10.5..<20.5])
        try live(playground, days)

        let table = try await waits(playground)
        let rows = try JSONValue(try await waits(playground, "-o", "json").output).elements

        #expect(table.status == 0 && table.errors == "")
        for job in ["brief", "hourly"] {
            let row = try #require(rows.first { $0["job"].text == job })
            let (with, without) = (
                try runs(of: job, playground, days), try runs(of: job, playground, Days())
            )
            #expect(without == 48 && with < without)
            #expect(row["runs_started"].number == with, "\(job)")
            #expect(row["runs_without"].number == without, "\(job)")
            #expect(row["subject"].text == "network" && row["reason"].text == "constraint")
        }
        #expect(
            table.outputLines.first == "JOB     WAITED FOR  HOW LONG    RUNS  WITHOUT IT")
        // From 11:00 to 20:30 on both days.
        #expect(
            table.outputLines.last
                == "hourly  network     19h of 19h  2     about 48 runs instead of 30")
    }

    @Test func `two reasons: each is told from the other and from both together`() async throws {
        let playground = try await playground()
        let days = Days(metered: [2.5..<5.5, 10.5..<20.5], busy: [12.5..<14.5, 21.5..<23.5])
        try live(playground, days)

        let all = try JSONValue(try await waits(playground, "hourly", "-o", "json").output).elements
        let late = try JSONValue(
            try await waits(playground, "hourly", "--since", "2026-11-02T21:00:00Z", "-o", "json")
                .output
        ).elements

        let network = try #require(all.first { $0["subject"].text == "network" })
        let idle = try #require(all.first { $0["subject"].text == "idle" })
        let (with, unmetered, unused) = (
            try runs(of: "hourly", playground, days),
            try runs(of: "hourly", playground, Days(busy: days.busy)),
            try runs(of: "hourly", playground, Days(metered: days.metered))
        )
        #expect(network["runs_started"].number == with)
        // A merged occurrence that something else would have held back as well is not counted; its
        // run would then have been another one: one a day.
        let without = try #require(network["runs_without"].number)
        #expect((unmetered - 2...unmetered).contains(without), "\(without) of \(unmetered)")
        #expect(idle["runs_without"].number == unused, "\(idle)")
        // 2.5 and 9.5 hours a day, and 2 and 1.5; together without the hours of both.
        #expect(network["total_ms"].number == 24 * 3_600_000)
        #expect(idle["total_ms"].number == 7 * 3_600_000)
        #expect(network["waited_ms"].number == 27 * 3_600_000)
        #expect(late.count == 1 && late.first?["subject"].text == "idle")
    }

    @Test(.enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
    func `a history in a database sums up and counts the same`() async throws {
        let playground = try await Playground(
            sandboxOptions: nil, on: try await StateDatabase()
        ) { _, folder in
            """
            version: 1
            metrics_textfile: \(folder)/jobs.prom
            jobs:
              - { id: full, kind: command, schedule: { every: 1h }, options: { command: [/bin/true] },
                  constraints: { storage_free: 900TiB } }

            """
        }
        try #require(try await playground.run("run", "--due").status == 75)

        let waits = try await playground.json("history", "waits").elements
        let metrics = String(
            decoding: try TemporaryFolder.read("\(playground.folder.path)/jobs.prom"), as: UTF8.self
        )

        #expect(waits.count == 1 && waits.first?["subject"].text == "storage_free")
        #expect(waits.first?["runs"].number == 1 && waits.first?["runs_without"] == .null)
        let lines = metrics.split(separator: "\n")
        for series in [
            #"clarity_jobs_wait_seconds_total{job_id="full",reason="constraint"} "#,
            #"clarity_jobs_missed_total{job_id="full",outcome="coalesced"} 0"#,
        ] {
            #expect(lines.contains { $0.hasPrefix(series) }, "\(series)\n\(metrics)")
        }
    }

    @Test func `a job that has not waited has no line, and an unknown one is refused`()
        async throws
    {
        let playground = try await playground()
        try live(playground, Days())

        let nothing = try await waits(playground)
        let unknown = try await waits(playground, "houry")

        #expect(nothing.status == 0)
        #expect(nothing.errorLines == ["nothing has waited since 2026-10-04T00:00:00Z"])
        #expect(unknown.status == 64 && unknown.output == "")
    }
}
