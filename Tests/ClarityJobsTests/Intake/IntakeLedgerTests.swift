import HealthStore
import HealthModel
import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import Backend
@testable import BackendContract
@testable import Import
@testable import ClarityJobs

@Suite struct IntakeLedgerTests {
    private let bench = WorkBench()

    private struct Killed: Error {}

    private func source(_ samples: [(Sample, SampleNature)]) -> ScriptedSource {
        ScriptedSource(path: bench.exportPath, samples: samples)
    }

    private func read(_ source: some SampleSource) throws -> IntakeResult {
        try SourceIntake(store: try bench.store(), clock: bench.clock, portion: 4)
            .read(source, progress: { _ in })
    }

    private func sums() throws -> OutboxArithmetic { try bench.store().outbox.arithmetic() }

    private func odd(
        _ kind: SampleKind, _ value: Double, length: Int64 = 0, at start: Instant? = nil
    ) -> Sample {
        let start = start ?? Instant(secondsSince1970: 1_600_000_000)
        return Sample(
            kind: kind, start: start, end: start + .seconds(length), value: .single(value))
    }

    @Test func `the ledger of a reading holds to the last record`() throws {
        _ = try read(source(minutes(0..<10) + [day(0, 100), day(1, 200)] + minutes(5..<12)))

        let sums = try sums()

        #expect(sums.isBalanced && sums.readings == 1 && sums.open == 0)
        #expect(sums.counts[.read] == 19 && sums.counts[.queued] == 12)
        #expect(sums.counts[.known] == 5 && sums.counts[.aggregated] == 2)
        #expect(sums.counts[.made] == 2 && sums.counts[.madeQueued] == 2)
        #expect(try bench.store().outbox.prove().findings == [])
    }

    @Test func `what came before the time wanted is in its place of the sum`() throws {
        var source = source(minutes(0..<10) + [day(0, 100), day(9, 200)])
        source.since = Instant(secondsSince1970: 1_700_000_000 + 5 * 60)

        _ = try read(source)
        let sums = try sums()

        #expect(sums.isBalanced)
        #expect(sums.counts[.beforeSince] == 5 && sums.counts[.madeBeforeSince] == 1)
    }

    @Test func `a reading that broke off leaves its sum, and the next does the rest`() throws {
        var broken = source(minutes(0..<10))
        broken.before = { if $0 == 9 { throw Killed() } }
        #expect(throws: Killed.self) { try read(broken) }
        let between = try sums()

        _ = try read(source(minutes(0..<10)))
        let sums = try sums()

        #expect(between.isBalanced && between.interrupted == 1 && between.open == 0)
        #expect(between.counts[.queued] == between.counts[.read])
        #expect(sums.isBalanced && sums.readings == 2 && sums.counts[.queued] == 10)
        #expect(try bench.store().outbox.prove().findings == [])
    }

    @Test func `what can be no sample is refused before it is queued, by reason`() throws {
        let late = bench.clock.now + .seconds(86_401)
        let bad = [
            odd(.heartRate, 2000), odd(.heartRate, .nan), odd(.heartRate, 60, at: late),
            odd(.steps, 5, length: 367 * 86_400), odd(.heartRate, 60, length: -1),
        ]
        let badDay = (odd(.steps, .infinity, length: 86_400), SampleNature.aggregate(asOf: late))

        let result = try read(
            source(minutes(0..<3) + bad.map { ($0, .measurement) } + [badDay]))
        let sums = try sums()

        #expect(
            result.report.refused == [
                "outside what is physically possible": 1, "not a finite number": 1,
                "in the future": 1, "longer than 366 days": 1, "end before start": 1,
            ])
        #expect(result.report.unexplained == 0)
        #expect(sums.isBalanced && sums.counts[.queued] == 3 && sums.counts[.refused] == 5)
        #expect(sums.counts[.madeRefused] == 1)
        #expect(sums.reasons.madeRefused == ["not a finite number": 1])
        #expect(sums.reasons.refused == result.report.refused)
        #expect(try bench.store().outbox.prove().findings == [])
    }

    @Test(arguments: [Dialect.blueprint, .loop].map(\.name))
    func `what a dialect takes is never refused as impossible`(name: String) throws {
        let dialect = try #require(Dialect.named(name))

        for route in UploadRoute.allCases {
            guard case .metrics(let fields) = try dialect.endpoint(route).format else { continue }
            for (kind, field) in fields {
                let possible = kind.facts.possible
                #expect(field.ranges.allSatisfy { possible.contains($0) }, "\(kind)")
            }
        }
    }

    @Test func `an export is accounted for by type and reason, and an unchanged one not again`()
        throws
    {
        bench.writeExport(
            0..<5,
            extra: """
                <Record type="HKQuantityTypeIdentifierDietaryWater" unit="mL" value="1" \
                startDate="2024-01-01 00:00:00 +0000" endDate="2024-01-01 00:00:00 +0000"/>
                <Record type="HKQuantityTypeIdentifierHeartRate" unit="count/min" value="x" \
                startDate="2024-01-01 00:00:00 +0000" endDate="2024-01-01 00:00:00 +0000"/>
                <Record type="HKQuantityTypeIdentifierHeartRate" unit="count/min" value="900" \
                startDate="2024-01-01 00:00:00 +0000" endDate="2024-01-01 00:00:00 +0000"/>
                """)
        let export = AppleHealthExport(path: bench.exportPath, now: bench.clock.now)

        _ = try read(export)
        _ = try read(export)
        let sums = try sums()

        #expect(sums.isBalanced && sums.readings == 1 && sums.counts[.read] == 8)
        #expect(sums.counts[.queued] == 5)
        #expect(sums.reasons.unmapped == ["HKQuantityTypeIdentifierDietaryWater": 1])
        #expect(
            sums.reasons.refused
                == ["bad value": 1, "outside what is physically possible": 1])
    }
}
