import HealthModel
import ClarityScheduler
import JSON
import Testing

@testable import Import

@Suite struct SpoolSampleTests {
    private static let now = Instant(secondsSince1970: 1_790_000_000)

    private static let written = Instant(secondsSince1970: 1_780_000_000)

    private func read(_ text: String) throws -> SpoolSample {
        try SpoolSample(
            try JSONParser.parse(Array(text.utf8)), now: SpoolSampleTests.now,
            asOf: SpoolSampleTests.written)
    }

    @Test(
        arguments: [
            (
                #"{"kind":"heart_rate","start":"2026-01-02T03:04:05Z","value":61.5,"source":"Band"}"#,
                SampleKind.heartRate, Sample.Value.single(61.5), 0, SampleNature.measurement
            ),
            (
                #"{"kind":"distance","start":"2026-01-02T03:04:05Z","end":"2026-01-02T03:14:05Z","value":1,"unit":"mi"}"#,
                .distance, .single(1.609344), 600, .measurement
            ),
            (
                #"{"kind":"steps","start":"2026-01-02T04:04:05+01:00","value":-0.0,"aggregate":true}"#,
                .steps, .single(0), 0, .aggregate(asOf: written)
            ),
            (
                #"{"kind":"blood_pressure","start":"2026-01-02T03:04:05Z","value":{"systolic":16,"diastolic":10.6},"unit":"kPa"}"#,
                .bloodPressure, .pressure(systolic: 120, diastolic: 80), 0, .measurement
            ),
            (
                #"{"kind":"sleep","start":"2026-01-02T03:04:05Z","end":"2026-01-02T04:04:05Z","value":{"total_minutes":54,"efficiency":0.9,"wake_count":2,"light_minutes":54}}"#,
                .sleep,
                .sleep(
                    SleepNight(totalMinutes: 54, efficiency: 0.9, wakeCount: 2, lightMinutes: 54)),
                3600, .aggregate(asOf: written)
            ),
            (
                #"{"kind":"activity","start":"2026-01-02T03:04:05Z","end":"2026-01-02T04:04:05Z","value":{"steps":812,"distance":1.5},"aggregate":false}"#,
                .activity, .activity(SpoolSampleTests.day), 3600, .measurement
            ),
            (
                #"{"kind":"mood","start":"2026-01-02T03:04:05Z","value":{"mood_score":"good","energy_level":6.5,"social_interaction_minutes":45,"notes":"calm"}}"#,
                .mood,
                .values(
                    MeasuredValues([.mood: 4, .energy: 6.5, .socialMinutes: 45], text: "calm")),
                0, .measurement
            ),
            (
                #"{"kind":"workout","start":"2026-01-02T03:04:05Z","end":"2026-01-02T04:04:05Z","value":{"activity_type":"Rowing","duration_minutes":60,"distance_km":5.5}}"#,
                .workout,
                .values(MeasuredValues([.activeMinutes: 60, .distance: 5.5], text: "Rowing")),
                3600, .aggregate(asOf: written)
            ),
            (
                #"{"kind":"environmental","start":"2026-01-02T03:04:05Z","value":{"body_temperature":30.5}}"#,
                .environmental, .values(MeasuredValues([.bodyTemperature: 30.5])), 0, .measurement
            ),
        ])
    func `a sample of each form is read`(
        text: String, kind: SampleKind, value: Sample.Value, seconds: Int64, nature: SampleNature
    ) throws {
        let read = try read(text)

        #expect(read.sample.kind == kind && read.sample.value == value && read.nature == nature)
        #expect(read.sample.start == Instant(rfc3339: "2026-01-02T03:04:05Z"))
        #expect(read.sample.end - read.sample.start == .seconds(seconds))
    }

    private static var day: ActivityDay {
        var day = ActivityDay()
        (day.steps, day.distance) = (812, 1.5)
        return day
    }

    @Test(
        arguments: [
            ("7", "got a number, wanted an object"),
            (
                #"{"start":"2026-01-02T03:04:05Z","value":1}"#,
                "`kind`: got nothing, wanted a kind's name"
            ),
            (#"{"kind":7}"#, "`kind`: got a number, wanted a text"),
            (
                #"{"kind":"heart_rate","value":1}"#,
                "`start`: got nothing, wanted an instant such as 2026-11-20T06:00:00Z"
            ),
            (
                #"{"kind":"heart_rate","start":"2026-01-02","value":1}"#,
                "`start`: got a text, wanted an instant such as 2026-11-20T06:00:00Z"
            ),
            (
                #"{"kind":"heart_rate","start":1767323045,"value":1}"#,
                "`start`: got a number, wanted an instant such as 2026-11-20T06:00:00Z"
            ),
            (
                #"{"kind":"heart_rate","start":"2096-01-02T00:00:00Z","value":1}"#,
                "`start`: got an instant to come, wanted one that has passed"
            ),
            (
                #"{"kind":"heart_rate","start":"2026-01-02T00:00:01Z","end":"2026-01-02T00:00:00Z","value":1}"#,
                "`end`: got an instant before `start`, wanted one at or after it"
            ),
            (
                #"{"kind":"heart_rate","start":"2026-01-02T00:00:00Z"}"#,
                "`value`: got nothing, wanted a number of at least 0"
            ),
            (
                #"{"kind":"heart_rate","start":"2026-01-02T00:00:00Z","value":"61"}"#,
                "`value`: got a text, wanted a number of at least 0"
            ),
            (
                #"{"kind":"heart_rate","start":"2026-01-02T00:00:00Z","value":-61}"#,
                "`value`: got a negative number, wanted a number of at least 0"
            ),
            (
                #"{"kind":"heart_rate","start":"2026-01-02T00:00:00Z","value":61,"unit":"furlong"}"#,
                "`unit`: got a text, wanted a unit of `heart_rate`, or nothing"
            ),
            (
                #"{"kind":"heart_rate","start":"2026-01-02T00:00:00Z","value":61,"aggregate":1}"#,
                "`aggregate`: got a number, wanted true or false"
            ),
            (
                #"{"kind":"heart_rate","start":"2026-01-02T00:00:00Z","vlaue":61}"#,
                "`vlaue`: got a field of no meaning, wanted one of kind, start, end, value, unit, source, aggregate"
            ),
            (
                #"{"kind":"heart_rate","start":"2026-01-02T00:00:00Z","a\u001b[2Jb\u007f":61}"#,
                "`a\u{FFFD}[2Jb\u{FFFD}`: got a field of no meaning, wanted one of kind, start, end, value, unit, source, aggregate"
            ),
            (
                #"{"kind":"blood_pressure","start":"2026-01-02T00:00:00Z","value":120}"#,
                "`value`: got a number, wanted an object of systolic, diastolic"
            ),
            (
                #"{"kind":"blood_pressure","start":"2026-01-02T00:00:00Z","value":{"systolic":120}}"#,
                "`value.diastolic`: got nothing, wanted a number of at least 0"
            ),
            (
                #"{"kind":"sleep","start":"2026-01-02T00:00:00Z","value":{}}"#,
                "`end`: got nothing after `start`, wanted its end"
            ),
            (
                #"{"kind":"sleep","start":"2026-01-02T00:00:00Z","end":"2026-01-02T08:00:00Z","value":{"total_minutes":400,"efficiency":90}}"#,
                "`value.efficiency`: got a larger number, wanted a number from 0 to 1"
            ),
            (
                #"{"kind":"sleep","start":"2026-01-02T00:00:00Z","end":"2026-01-02T08:00:00Z","value":{"total_minutes":0,"efficiency":0.9}}"#,
                "`value.total_minutes`: got another number, wanted a whole number from 1 to 2880"
            ),
            (
                #"{"kind":"workout","start":"2026-01-02T00:00:00Z","end":"2026-01-02T01:00:00Z","value":{"distance_km":5}}"#,
                "`value.activity_type`: got nothing, wanted a type of activity"
            ),
            (
                #"{"kind":"mood","start":"2026-01-02T00:00:00Z","value":{"mood_score":"fine"}}"#,
                "`value.mood_score`: got a text, wanted one of very_low, low, neutral, good, excellent"
            ),
            (
                #"{"kind":"stress","start":"2026-01-02T00:00:00Z","value":{"stress_level":0.5}}"#,
                "`value.stress_level`: got a smaller number, wanted a number from 1 to 10"
            ),
            (
                #"{"kind":"cognitive","start":"2026-01-02T00:00:00Z","value":{"notes":"x"}}"#,
                "`value`: got an object without a value, wanted at least one of mood_score, stress_level, anxiety_level, energy_level, focus_rating, social_interaction_minutes, meditation_minutes"
            ),
            (
                #"{"kind":"environmental","start":"2026-01-02T00:00:00Z","value":{"notes":"x"}}"#,
                "`value.notes`: got a field of no meaning, wanted one of heart_rate, heart_rate_variability, blood_pressure_systolic, blood_pressure_diastolic, oxygen_saturation, respiratory_rate, body_temperature, blood_glucose"
            ),
            (
                #"{"kind":"mood","start":"2026-01-02T00:00:00Z","value":{"stress_level":2,"notes":""#
                    + String(repeating: "x", count: 1001) + #""}}"#,
                "`value.notes`: got a longer text, wanted at most 1000 characters"
            ),
            (
                #"{"kind":"activity","start":"2026-01-02T00:00:00Z","end":"2096-01-03T00:00:00Z","value":{"steps":1}}"#,
                "`end`: got an instant to come, wanted one that has passed"
            ),
            (
                #"{"kind":"activity","start":"2026-01-02T00:00:00Z","end":"2026-01-03T00:00:00Z","value":{}}"#,
                "`value`: got an empty object, wanted at least one of steps, distance, active_energy, exercise_minutes, flights_climbed, vo2_max, resting_heart_rate"
            ),
        ])
    func `what is wrong is said without the value`(text: String, message: String) throws {
        let error = #expect(throws: FieldFault.self) { try read(text) }

        #expect(error?.description == message)
    }

    @Test func `a kind that is none is answered with those that there are`() throws {
        let error = #expect(throws: FieldFault.self) { try read(#"{"kind":"pulse"}"#) }

        #expect(
            error?.description.hasPrefix("`kind`: got a text, wanted one of heart_rate, ") == true)
        #expect(
            error?.description.hasSuffix(
                ", activity, mood, stress, cognitive, environmental, workout")
                == true)
    }
}
