@testable import Backend
@testable import BackendContract
import HealthModel

import ClarityScheduler
import Testing

struct UploadBodyTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let kind: SampleKind
        let value: Sample.Value
        let written: String

        init(_ kind: SampleKind, _ value: Sample.Value, _ written: String) {
            self.kind = kind
            self.value = value
            self.written = written
        }

        var testDescription: String { kind.rawValue }
    }

    static let rows = [
        Row(.heartRate, .single(72), #""heart_rate","biometric_data":{"heart_rate":72.0}"#),
        Row(
            .heartRateVariability, .single(41.25),
            #""heart_rate_variability","biometric_data":{"heart_rate_variability":41.25}"#),
        Row(
            .bloodPressure, .pressure(systolic: 118, diastolic: 76),
            #""blood_pressure","biometric_data":{"blood_pressure_systolic":118,"#
                + #""blood_pressure_diastolic":76}"#),
        Row(
            .oxygenSaturation, .single(97.5),
            #""blood_oxygen","biometric_data":{"oxygen_saturation":97.5}"#),
        Row(
            .respiratoryRate, .single(14.5),
            #""respiratory_rate","biometric_data":{"respiratory_rate":14.5}"#),
        Row(.steps, .single(8000), #""activity_level","activity_data":{"steps":8000}"#),
        Row(.distance, .single(5.125), #""activity_level","activity_data":{"distance":5.125}"#),
        Row(
            .activeEnergy, .single(310.5),
            #""activity_level","activity_data":{"active_energy":310.5}"#),
        Row(
            .exerciseMinutes, .single(29.5),
            #""activity_level","activity_data":{"exercise_minutes":30}"#),
        Row(
            .flightsClimbed, .single(7),
            #""activity_level","activity_data":{"flights_climbed":7}"#),
        Row(.vo2Max, .single(44.1), #""activity_level","activity_data":{"vo2_max":44.1}"#),
        Row(
            .restingHeartRate, .single(58),
            #""activity_level","activity_data":{"resting_heart_rate":58.0}"#),
        Row(
            .meditationMinutes, .single(12),
            #""mood_assessment","mental_health_data":{"meditation_minutes":12,"#
                + #""timestamp":"2026-11-20T06:00:00Z"}"#),
        Row(
            .sleep, .sleep(testNight),
            #""sleep_analysis","sleep_data":{"total_sleep_minutes":431,"sleep_efficiency":0.9,"#
                + #""time_to_sleep_minutes":9,"wake_count":3,"#
                + #""sleep_stages":{"awake":22,"light":260,"deep":71,"rem":100},"#
                + #""sleep_start":"2026-11-20T06:00:00Z","sleep_end":"2026-11-20T06:01:00Z"}"#),
        // Without stages, neither they nor the number of awakenings is known.
        Row(
            .sleep,
            .sleep(SleepNight(totalMinutes: 431, efficiency: 0.9, lightMinutes: 431)),
            #""sleep_analysis","sleep_data":{"total_sleep_minutes":431,"sleep_efficiency":0.9,"#
                + #""sleep_start":"2026-11-20T06:00:00Z","sleep_end":"2026-11-20T06:01:00Z"}"#),
        // No stages, but times awake.
        Row(
            .sleep,
            .sleep(
                SleepNight(
                    totalMinutes: 431, efficiency: 0.9, wakeCount: 2, awakeMinutes: 12,
                    lightMinutes: 431)),
            #""sleep_analysis","sleep_data":{"total_sleep_minutes":431,"sleep_efficiency":0.9,"#
                + #""wake_count":2,"sleep_stages":{"awake":12},"#
                + #""sleep_start":"2026-11-20T06:00:00Z","sleep_end":"2026-11-20T06:01:00Z"}"#),
        // Stages and no time awake: the sleeper did not wake.
        Row(
            .sleep,
            .sleep(
                SleepNight(totalMinutes: 431, efficiency: 0.9, lightMinutes: 360, deepMinutes: 71)),
            #""sleep_analysis","sleep_data":{"total_sleep_minutes":431,"sleep_efficiency":0.9,"#
                + #""wake_count":0,"sleep_stages":{"awake":0,"light":360,"deep":71,"rem":0},"#
                + #""sleep_start":"2026-11-20T06:00:00Z","sleep_end":"2026-11-20T06:01:00Z"}"#),
        // Stages and times awake, whose number the source does not give.
        Row(
            .sleep,
            .sleep(
                SleepNight(
                    totalMinutes: 431, efficiency: 0.9, awakeMinutes: 9, lightMinutes: 360,
                    deepMinutes: 71)),
            #""sleep_analysis","sleep_data":{"total_sleep_minutes":431,"sleep_efficiency":0.9,"#
                + #""sleep_stages":{"awake":9,"light":360,"deep":71,"rem":0},"#
                + #""sleep_start":"2026-11-20T06:00:00Z","sleep_end":"2026-11-20T06:01:00Z"}"#),
        Row(
            .mood, testValue(.mood),
            #""mood_assessment","mental_health_data":{"mood_score":"good","stress_level":3.5,"#
                + #""social_interaction_minutes":45,"notes":"calm","#
                + #""timestamp":"2026-11-20T06:00:00Z"}"#),
        Row(
            .stress, .values(MeasuredValues([.stress: 3.5])),
            #""stress_indicators","mental_health_data":{"stress_level":3.5,"#
                + #""timestamp":"2026-11-20T06:00:00Z"}"#),
        Row(
            .cognitive, .values(MeasuredValues([.focus: 7])),
            #""cognitive_metrics","mental_health_data":{"focus_rating":7.0,"#
                + #""timestamp":"2026-11-20T06:00:00Z"}"#),
        Row(
            .environmental, .values(MeasuredValues([.bodyTemperature: 30.5, .systolic: 118])),
            #""environmental","biometric_data":{"blood_pressure_systolic":118,"#
                + #""body_temperature":30.5}"#),
        Row(
            .activity, .activity(testDay),
            #""activity_level","activity_data":{"steps":8012,"distance":5.125,"#
                + #""active_energy":310.25,"exercise_minutes":30,"flights_climbed":7,"#
                + #""resting_heart_rate":58.0}"#),
    ]

    @Test(arguments: rows)
    func `each kind is written as the contract has it`(row: Row) throws {
        let batch = testBatch([testSample(row.kind, row.value)])

        let body = try testBody(batch)

        let wanted =
            #"{"user_id":"user-1","metrics":[{"metric_id":"metric-0","metric_type":"#
            + row.written
            + #","metadata":{"start_date":"2026-11-20T06:00:00Z","#
            + #""end_date":"2026-11-20T06:01:00Z"},"created_at":"2026-11-20T06:00:00Z"}],"#
            + #""upload_source":"apple_health","client_timestamp":"2026-11-20T06:00:00Z","#
            + #""sync_token":"batch-1"}"#
        #expect(String(decoding: body, as: UTF8.self) == wanted)
    }

    @Test func `every kind that there is has a row above`() {
        let kinds = UploadBodyTests.rows.map(\.kind)

        let without: Set<SampleKind> = [.bodyTemperature, .bloodGlucose, .workout]
        #expect(Set(kinds) == Set(SampleKind.allCases).subtracting(without))
    }

    @Test func `several metrics stand in the order of the batch`() throws {
        let batch = testBatch([testSample(.steps, .single(10)), testSample(.heartRate)])

        let body = String(decoding: try testBody(batch), as: UTF8.self)

        let types = body.split(separator: #""metric_type":""#).dropFirst().map {
            $0.prefix { $0 != "\"" }
        }
        #expect(types == ["activity_level", "heart_rate"])
    }

    @Test func `a sample's source is its device`() throws {
        let batch = testBatch([testSample(.steps, source: "Ada\u{2019}s \"Watch\" \\ \u{1}\n/é")])

        let body = String(decoding: try testBody(batch), as: UTF8.self)

        #expect(body.contains(#""device_id":"Ada’s \"Watch\" \\ \u0001\u000a/é","metadata":{"#))
    }

    @Test func `the same batch gives the same bytes`() throws {
        let samples = UploadBodyTests.rows.map { testSample($0.kind, $0.value) }

        let first = try testBody(testBatch(samples))
        let second = try testBody(testBatch(samples))

        #expect(first == second)
    }

    @Test func `metrics that cannot be written are named`() {
        var absurd = ActivityDay()
        absurd.steps = 1e300
        let batch = testBatch([
            testSample(.heartRate, .single(.nan)), testSample(.steps),
            testSample(.steps, .single(1e300)), testSample(.bloodPressure, .single(120)),
            testSample(.heartRate, .pressure(systolic: 120, diastolic: 80)),
            testSample(.activity, .activity(ActivityDay())), testSample(.sleep),
            testSample(.bodyTemperature), testSample(.activity, .activity(absurd)),
        ])

        #expect(throws: APIError.validation(indices: [0, 2, 3, 4, 5, 6, 7, 8])) {
            try testBody(batch)
        }
    }

    @Test func `what of a day is beyond its range is left out of it`() throws {
        var day = ActivityDay()
        (day.steps, day.vo2Max, day.restingHeartRate) = (8120, 9.5, 121)
        let sample = testSample(.activity, .activity(day))

        let loop = String(
            decoding: try testBody(testBatch([sample], route: .metrics), .loop), as: UTF8.self)
        day.steps = 1e300
        let blueprint = String(
            decoding: try testBody(testBatch([testSample(.activity, .activity(day))])),
            as: UTF8.self)

        #expect(loop.contains(#""activity_data":{"steps":8120}"#))
        #expect(blueprint.contains(#""activity_data":{"vo2_max":9.5,"resting_heart_rate":121"#))
    }

    @Test func `a kind that the dialect lacks is named`() {
        let batch = testBatch([testSample(.heartRate), testSample(.respiratoryRate)])

        #expect(throws: APIError.validation(indices: [1])) { try testBody(batch, .loop) }
    }

    @Test func `a hundred metrics are sent and one more is not`() throws {
        let hundred = testBatch(Array(repeating: testSample(.steps), count: 100))
        let more = testBatch(Array(repeating: testSample(.steps), count: 101))

        #expect(try !testBody(hundred).isEmpty)
        #expect(throws: APIError.requestTooLarge) { try testBody(more) }
    }

    @Test func `a body beyond the dialect's limit is not sent`() throws {
        var dialect = Dialect.blueprint
        let batch = testBatch([testSample(.steps)])
        let size = try testBody(batch, dialect).count

        dialect.endpoints[.metrics]?.requestBytes = size
        #expect(try testBody(batch, dialect).count == size)
        dialect.endpoints[.metrics]?.requestBytes = size - 1
        #expect(throws: APIError.requestTooLarge) { try testBody(batch, dialect) }
    }

    @Test func `a printed batch shows no value`() {
        let batch = testBatch([testSample(.heartRate, .single(187))])

        var dumped = ""
        dump(batch, to: &dumped)

        #expect("\(batch) \(batch.metrics)" == "batch `batch-1` of 1 metrics [metric `metric-0`]")
        #expect(!dumped.contains("187"))
    }
}
