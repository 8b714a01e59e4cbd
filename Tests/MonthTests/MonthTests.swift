import ClarityHost
import HealthStore
import ClarityScheduler
import Platform
import ClarityTestSupport
import Database
import Testing

/// Runs the five shipped jobs for a month on a clock of its own, with every fault that a backend, a
/// network and a person can cause.
@Suite("A month") struct MonthTests {
    private static func shippedJobs() throws -> JobFile {
        let root = try #require(
            #filePath.firstRange(of: "/Tests/MonthTests/").map { #filePath[..<$0.lowerBound] })
        let path = "\(root)/jobs.yaml"
        return try JobFileReader(
            catalogue: clarityCatalogue, zones: SystemZones(environment: [:]), home: "/home/ada",
            workingDirectory: "/", localZone: "UTC", host: "month"
        ).read(try TemporaryFolder.read(path), path: path)
    }

    @Test(arguments: MonthBackend.all)
    func `no sample is lost, none is twice, and simulate knew every run before`(
        backend: MonthBackend
    ) async throws {
        let script = try MonthScript.month(with: backend)
        let file = try MonthTests.shippedJobs()
        let world = try await MonthWorld(script, file, backend)

        try await world.live()

        let sums = try world.health().outbox.arithmetic()
        let text = """
            \(script)
            \(world.attempts) attempts of \(world.runs.count) runs
            \(sums.account)
            \(world.counted.summary)
            \(world.notesByCount.joined(separator: "\n"))
            """
        try checkReadings(world, sums, text)
        try await checkBackend(world, backend, sums.account, text)
        try checkRuns(world, text)
        let versions = try FileConnection(path: "\(world.statePath)/health.db").first(
            "SELECT count(*) FROM archive"
        ) { $0.integer(0) }
        #expect(versions == (backend.hasEdits ? 1 : 0), "the version before the edit\n\(text)")
        #expect(
            (world.counted["samples_known"] > 0) == backend.knowsRepeats, "the lost answer\n\(text)"
        )
        let findings = try RunHistory(inDirectory: world.statePath).audit(JobSet(world.jobs))
        #expect(findings.filter(\.isOffence) == [], "\(text)")
        #expect(try world.health().outbox.prove().findings == [], "\(text)")
    }

    /// Checks that the attempts count every record that they read, and the sums of the outbox every
    /// record once: those of the second export, which has more, and what the first one queued.
    private func checkReadings(
        _ world: MonthWorld, _ sums: OutboxArithmetic, _ text: String
    ) throws {
        let (first, second) = (MonthScript.first, MonthScript.second)
        let overlap = first.heartRates.upperBound - second.heartRates.lowerBound
        let knownDays = first.days.upperBound - second.days.lowerBound
        let heartRates = first.heartRates.count + second.heartRates.count
        let days = first.days.count + second.days.count
        let distinct = heartRates - overlap + second.stepRecords + second.unmapped
        let expected: [(ReadingCounts.Name, once: Int, String, read: Int)] = [
            (.read, distinct, "samples_read", first.records + second.records),
            (.queued, heartRates - overlap, "samples_queued", heartRates - overlap),
            (.known, 0, "samples_duplicate", overlap),
            (
                .aggregated, second.stepRecords, "samples_folded",
                first.stepRecords + second.stepRecords
            ),
            (.unmapped, second.unmapped, "samples_kept_here", first.unmapped + second.unmapped),
            (.refused, 0, "samples_refused", 0), (.paired, 0, "samples_paired", 0),
            (.repeated, 0, "samples_repeated", 0),
            (.made, days - knownDays, "metrics_made", days),
            (.madeQueued, days - knownDays, "metrics_queued", days - knownDays),
            (.madeKnown, 0, "metrics_known", knownDays),
            (.madeReplaced, 0, "metrics_replaced", 0),
            (.madeCorrected, 0, "metrics_corrected", 0),
        ]
        for (name, once, told, read) in expected {
            #expect(sums.counts[name] == Int64(once), "\(name)\n\(text)")
            #expect(world.counted[told] == Int64(read), "\(told)\n\(text)")
        }
        #expect(sums.isBalanced, "\(text)")
    }

    /// Checks that the backend has each sample once, except the one that it refuses.
    private func checkBackend(
        _ world: MonthWorld, _ backend: MonthBackend, _ account: OutboxCounts, _ text: String
    ) async throws {
        let samples = world.counted["samples_queued"] + world.counted["metrics_queued"]
        #expect(account.total == samples, "\(text)")
        #expect(account[.rejected] == 1, "\(text)")
        #expect(account[.accepted] + account[.setAside] + account.waiting == 0, "\(text)")
        // Of the uploads that are processed, one never is.
        #expect((account[.unconfirmed] > 0) == backend.tellsEnd, "\(text)")
        #expect((account[.stored] == samples - 1) != backend.tellsEnd, "\(text)")
        #expect(
            account[.confirmed] + account[.stored] + account[.unconfirmed] == samples - 1, "\(text)"
        )
        #expect(try await world.sandbox.count("samples") == samples - 1, "\(text)")
        #expect(try await world.sandbox.count("doubled") == 0, "\(text)")
        let metrics = try await world.sandbox.count("metrics")
        #expect(try await world.sandbox.count("distinct_metric_ids") == metrics, "\(text)")
    }

    /// Checks that the simulation of the script has the same runs.
    private func checkRuns(_ world: MonthWorld, _ text: String) throws {
        let trace = world.script.trace
        let report = Simulation(
            world.jobs, maxParallel: world.maxParallel, over: MonthScript.stretch,
            conditions: trace.conditions, nextChange: trace.nextChange,
            attempt: { _ in MonthScript.attempt },
            supposed: { trace.attempt(of: $0.id, at: $1) }, seed: 1
        ).run()

        let predicted = report.runs.map { ServiceReading($0.run) }
        let lived = world.runs.values.sorted { $0.id < $1.id }.map { ServiceReading($0) }
        let place = zip(predicted, lived).enumerated().first { $1.0 != $1.1 }
        #expect(
            predicted == lived,
            """
            run \(place.map { "\($0.offset + 1)" } ?? "after the last") was not as predicted:
            predicted \(place.map { "\($0.element.0)" } ?? "\(predicted.count) runs")
            lived     \(place.map { "\($0.element.1)" } ?? "\(lived.count) runs")
            \(text)
            """)
        #expect(predicted.count > 1000)
    }

    /// The part of a run that is predicted.
    private struct ServiceReading: Equatable {
        var job: JobID
        var trigger: Trigger
        var scheduledFor: Instant
        var state: RunState
        var attempts: Int
        var failures: Int
        var startedAt: Instant?
        var finishedAt: Instant?

        init(_ run: Run) {
            job = run.job
            trigger = run.trigger
            scheduledFor = run.scheduledFor
            state = run.state
            attempts = run.attempts
            failures = run.failures
            startedAt = run.startedAt
            finishedAt = run.finishedAt
        }
    }
}
