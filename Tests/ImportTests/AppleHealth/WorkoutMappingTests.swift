import HealthModel
import ClarityScheduler
import Testing

@testable import Import

@Suite("Workouts as samples")
struct WorkoutMappingTests {
    private static let dates =
        #"startDate="2024-01-21 08:00:00 -0500" endDate="2024-01-21 08:30:00 -0500""#
    private static let type = #"workoutActivityType="HKWorkoutActivityTypeRunning" sourceName="W""#

    private func statistics(_ type: String, _ sum: String, _ unit: String) -> String {
        #"<WorkoutStatistics type="HKQuantityTypeIdentifier\#(type)" sum="\#(sum)" unit="\#(unit)"/>"#
    }

    /// Returns the values of the only workout in a text.
    private func values(_ attributes: String, _ inside: String = "") throws -> MeasuredValues {
        let found = try reading(
            body: "<Workout \(WorkoutMappingTests.type) \(attributes) \(WorkoutMappingTests.dates)>"
                + "\(inside)</Workout>")
        let sample = try #require(found.samples.first)
        #expect(found.samples.count == 1 && found.report.unexplained == 0)
        #expect(sample.kind == .workout && sample.source == "W")
        #expect(sample.start == Instant(rfc3339: "2024-01-21T13:00:00Z"))
        #expect(sample.end == Instant(rfc3339: "2024-01-21T13:30:00Z"))
        guard case .values(let values) = sample.value else { return MeasuredValues() }
        #expect(values.text == "HKWorkoutActivityTypeRunning")
        return values
    }

    @Test func `the totals of a workout are converted from their units`() throws {
        let values = try values(
            #"duration="0.5" durationUnit="hr" totalDistance="2" totalDistanceUnit="mi" "#
                + #"totalEnergyBurned="100" totalEnergyBurnedUnit="Cal""#,
            statistics("DistanceWalkingRunning", "9", "km"))

        #expect(
            values.numbers == [.activeMinutes: 30, .distance: 3.218688, .activeEnergy: 100])
    }

    @Test func `without totals, the statistics count`() throws {
        let values = try values(
            "",
            statistics("DistanceSwimming", "500", "m") + statistics("DistanceCycling", "20", "km")
                + statistics("ActiveEnergyBurned", "310", "Cal")
                + statistics("BasalEnergyBurned", "40", "Cal")
                + statistics("HeartRate", "3", "count/min"))

        #expect(
            values.numbers == [.activeMinutes: 30, .distance: 20.5, .activeEnergy: 310])
    }

    @Test(arguments: [
        (#"totalDistance="5" totalDistanceUnit="furlong""#),
        (#"totalDistance="-5" totalDistanceUnit="km""#), (#"totalDistance="5""#),
        (#"totalDistance="far" totalDistanceUnit="km""#),
    ])
    func `a total that is no distance is left out`(attributes: String) throws {
        #expect(try values(attributes).numbers == [.activeMinutes: 30])
    }

    @Test(arguments: [
        ("<Workout \(type)/>", "workout without a date, or too long", 0),
        (
            #"<Workout \#(type) startDate="2024-01-21 08:00:00 -0500" "#
                + #"endDate="2024-01-21 07:00:00 -0500"/>"#, "end before start", 1
        ),
        (
            #"<Workout \#(type) startDate="2096-01-21 08:00:00 -0500" "#
                + #"endDate="2096-01-21 09:00:00 -0500"/>"#, "in the future", 1
        ),
        ("<Workout \(dates)/>", "no type", 1),
    ])
    func `a workout that cannot be sent is counted, and kept if it has a date`(
        text: String, reason: String, kept: Int
    ) throws {
        let report = try reading(body: text).report

        #expect(report.recordsRead == 1 && report.refused == [reason: 1])
        #expect(report.unexplained == 0 && report.made == [:])
        #expect(try #require(report.records).lines().count == kept)
    }

    @Test func `a workout with more events than are kept has its distance`() throws {
        let events = (0..<18_000).map { number in
            #"<WorkoutEvent type="HKWorkoutEventTypeMotion\#(number % 2 == 0 ? "Paused" : "Resumed")" "#
                + #"date="2024-01-21 08:00:\#(10 + number % 50) -0500"/>"#
        }
        let inside = [
            #"<MetadataEntry key="HKIndoorWorkout" value="0"/>"#, events.joined(separator: "\n"),
            statistics("DistanceWalkingRunning", "31.5", "km"),
            #"<WorkoutRoute sourceName="W"><FileReference path="/a.gpx"/></WorkoutRoute>"#,
        ]

        let found = try reading(
            body: "<Workout \(Self.type) \(Self.dates)>\(inside.joined())</Workout>")

        let sample = try #require(found.samples.first)
        guard case .values(let values) = sample.value else { return #expect(Bool(false)) }
        #expect(values.numbers == [.activeMinutes: 30, .distance: 31.5])
        let left = try #require(found.report.elementsRefused["WorkoutEvent"])
        #expect(found.report.elementsRefused.count == 1 && (1000..<17_000).contains(left))
        let line = try #require(found.report.records?.lines().first)
        #expect(line.split(separator: #""type":"HKWorkoutEvent"#).count - 1 == 18_000 - Int(left))
        #expect(line.contains("HKIndoorWorkout|0|") && line.contains("/a.gpx"))
        #expect(line.contains(#""sum":"31.5""#))
        #expect(found.report.unexplained == 0 && found.report.refused == [:])
    }

    @Test func `a workout whose own attributes are too long is refused`() throws {
        let text = String(repeating: "x", count: 1 << 20)

        let report = try reading(
            body: #"<Workout \#(Self.type) x="\#(text)" \#(Self.dates)></Workout>"#
        ).report

        #expect(report.refused == ["workout without a date, or too long": 1])
    }

    @Test func `workouts are counted with the records, by source`() throws {
        let workout = "<Workout \(WorkoutMappingTests.type) \(WorkoutMappingTests.dates)/>"

        let report = try reading(body: heartRate() + workout + workout).report

        #expect(report.recordsRead == 3 && report.samples == 1 && report.aggregated == 2)
        #expect(report.made == [.workout: 2] && report.bySource == ["a": 1, "W": 2])
    }
}
