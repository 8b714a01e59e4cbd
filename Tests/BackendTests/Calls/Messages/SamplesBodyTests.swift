@testable import Backend
@testable import BackendContract
import HealthModel

import ClarityScheduler
import Testing

struct SamplesBodyTests {
    static let rows: [(SampleKind, Sample.Value, String)] = [
        (.heartRate, .single(72), #"HeartRate","value":72.0,"unit":"count/min""#),
        (
            .heartRateVariability, .single(41.25),
            #"HeartRateVariabilitySDNN","value":41.25,"unit":"ms""#
        ),
        (.oxygenSaturation, .single(97.5), #"OxygenSaturation","value":0.975,"unit":"%""#),
        (.respiratoryRate, .single(14.5), #"RespiratoryRate","value":14.5,"unit":"count/min""#),
        (.steps, .single(8000), #"StepCount","value":8000.0,"unit":"count""#),
        (.distance, .single(5.125), #"DistanceWalkingRunning","value":5.125,"unit":"km""#),
        (.activeEnergy, .single(310.5), #"ActiveEnergyBurned","value":310.5,"unit":"kcal""#),
        (.exerciseMinutes, .single(29.5), #"AppleExerciseTime","value":29.5,"unit":"min""#),
        (.flightsClimbed, .single(7), #"FlightsClimbed","value":7.0,"unit":"count""#),
        (.vo2Max, .single(44.1), #"VO2Max","value":44.1,"unit":"mL/min·kg""#),
        (.restingHeartRate, .single(58), #"RestingHeartRate","value":58.0,"unit":"count/min""#),
        (.bodyTemperature, .single(36.6), #"BodyTemperature","value":36.6,"unit":"degC""#),
        (.bloodGlucose, .single(92), #"BloodGlucose","value":92.0,"unit":"mg/dL""#),
    ]

    private func body(_ samples: [Sample]) throws -> String {
        String(decoding: try testBody(testBatch(samples, route: .samples), .loop), as: UTF8.self)
    }

    @Test(arguments: rows)
    func `each quantity is written as HealthKit has it`(
        kind: SampleKind, value: Sample.Value, written: String
    ) throws {
        #expect(
            try body([testSample(kind, value, source: "Watch")]) == """
                {"user_id":"user-1","quantity_samples":[{"identifier":"metric-0",\
                "type":"HKQuantityTypeIdentifier\(written),\
                "start_date":"2026-11-20T06:00:00Z","end_date":"2026-11-20T06:01:00Z",\
                "source_name":"Watch","metadata":{}}],"category_samples":[],"workouts":[],\
                "correlation_samples":[],"upload_metadata":{"upload_source":"apple_health",\
                "client_timestamp":"2026-11-20T06:00:00Z"},"sync_token":"batch-1"}
                """)
    }

    @Test func `meditation is a category of an interval`() throws {
        #expect(
            try body([testSample(.meditationMinutes, .single(1))]).contains(
                """
                "category_samples":[{"identifier":"metric-0",\
                "type":"HKCategoryTypeIdentifierMindfulSession","value":0,\
                "start_date":"2026-11-20T06:00:00Z","end_date":"2026-11-20T06:01:00Z",\
                "metadata":{}}],
                """))
    }

    @Test func `a blood pressure is one correlation with both numbers`() throws {
        let sample = testSample(.bloodPressure, .pressure(systolic: 118, diastolic: 76))

        #expect(
            try body([sample]).contains(
                """
                "correlation_samples":[{"identifier":"metric-0",\
                "type":"HKCorrelationTypeIdentifierBloodPressure",\
                "value":{"systolic":118,"diastolic":76},"unit":"mmHg",
                """))
    }

    @Test func `a night is one category with all its numbers`() throws {
        #expect(
            try body([testSample(.sleep, .sleep(testNight))]).contains(
                """
                "category_samples":[{"identifier":"metric-0",\
                "type":"HKCategoryTypeIdentifierSleepAnalysis",\
                "value":{"total_sleep_minutes":431,"sleep_efficiency":0.9,\
                "time_to_sleep_minutes":9,"wake_count":3,\
                "sleep_stages":{"awake":22,"light":260,"deep":71,"rem":100}},\
                "start_date":
                """))
    }

    @Test func `a day is one correlation of what is known of it`() throws {
        #expect(
            try body([testSample(.activity, .activity(testDay))]).contains(
                """
                "correlation_samples":[{"identifier":"metric-0",\
                "type":"HKActivitySummaryTypeIdentifier",\
                "value":{"steps":8012.0,"distance_km":5.125,"active_energy_kcal":310.25,\
                "exercise_minutes":29.5,"flights_climbed":7.0,"resting_heart_rate":58.0},\
                "start_date":
                """))
    }

    @Test func `a workout goes into the list of workouts`() throws {
        #expect(
            try body([testSample(.workout, testValue(.workout))]).contains(
                """
                "workouts":[{"identifier":"metric-0","type":"HKWorkoutTypeIdentifier",\
                "value":{"duration_minutes":32.5,"distance_km":5.25,"active_energy_kcal":310.0,\
                "activity_type":"HKWorkoutActivityTypeRunning"},"start_date":
                """))
    }

    @Test func `an assessment is one object with the backend's own names`() throws {
        #expect(
            try body([testSample(.stress, testValue(.stress))]).contains(
                """
                "correlation_samples":[{"identifier":"metric-0","type":"stress_indicators",\
                "value":{"mood_score":"good","stress_level":3.5,"social_interaction_minutes":45,\
                "notes":"calm"},"start_date":
                """))
    }

    @Test func `each sample is one object under its own identifier`() throws {
        let text = try body(SampleKind.allCases.map { testSample($0, testValue($0)) })

        let identifiers = text.split(separator: "\"identifier\":\"").dropFirst().map {
            String($0.prefix { $0 != "\"" })
        }
        let numbers = SampleKind.allCases.indices
        #expect(identifiers.sorted() == numbers.map { "metric-\($0)" }.sorted())
    }

    @Test func `ids of users go in lower case where the backend compares them so`() throws {
        var batch = testBatch([testSample(.steps)], route: .samples)
        batch.userID = "0A1B"

        let loop = try APIRequests(base: testBase, dialect: .loop).upload(batch, token: nil)
        let blueprint = try APIRequests(base: testBase, dialect: .blueprint).upload(
            batch, token: nil)

        #expect(String(decoding: loop.body ?? [], as: UTF8.self).hasPrefix(#"{"user_id":"0a1b""#))
        #expect(
            String(decoding: blueprint.body ?? [], as: UTF8.self).hasPrefix(#"{"user_id":"0A1B""#))
        #expect(loop.url == "\(testBase)/healthkit")
        #expect(blueprint.url == "\(testBase)/healthkit_upload")
    }

    @Test func `samples that cannot be written are named`() {
        let batch = testBatch(
            [
                testSample(.steps), testSample(.steps, .single(.nan)), testSample(.bloodPressure),
                testSample(.steps, .pressure(systolic: 1, diastolic: 1)),
            ], route: .samples)

        #expect(throws: APIError.validation(indices: [1, 2, 3])) { try testBody(batch, .loop) }
    }

    @Test func `a thousand samples are sent and one more is not`() throws {
        let thousand = testBatch(Array(repeating: testSample(.steps), count: 1000), route: .samples)
        let more = testBatch(Array(repeating: testSample(.steps), count: 1001), route: .samples)

        #expect(try testBody(thousand, .loop).count < 5 << 20)
        #expect(throws: APIError.requestTooLarge) { try testBody(more, .loop) }
    }
}
