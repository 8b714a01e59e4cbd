import HealthStore
import HealthModel
import ClarityScheduler
import Testing

@testable import Reports

@Suite struct FlatMetricTests {
    private func numbers(_ json: String, _ type: String) -> MetricNumbers {
        MetricNumbers(row: Array(json.utf8), type: type)
    }

    private func expect(
        _ json: String, _ type: String, _ wanted: [Measure: Double],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let found = numbers(json, type).entries.map { ($0.measure, $0.number) }
        #expect(
            Dictionary(uniqueKeysWithValues: found) == wanted, sourceLocation: sourceLocation)
    }

    @Test func `a row of one number is the measure of its type`() {
        expect(#"{"value":61.5}"#, "heart_rate", [.heartRate: 61.5])
        expect(#"{"value":96}"#, "blood_oxygen", [.oxygenSaturation: 96])
        expect(#"{"value":14}"#, "respiratory_rate", [.respiratoryRate: 14])
        expect(#"{"value":42}"#, "heart_rate_variability", [.heartRateVariability: 42])
        expect(#"{"value":1}"#, "environmental", [:])
    }

    @Test func `each payload gives its numbers by the names of the contract`() {
        expect(
            """
            {"biometric_data":{"blood_pressure_systolic":120,"blood_pressure_diastolic":80,
             "body_temperature":36.6,"blood_glucose":90,"unheard_of":1}}
            """, "blood_pressure",
            [.systolic: 120, .diastolic: 80, .bodyTemperature: 36.6, .bloodGlucose: 90])
        expect(
            """
            {"activity_data":{"steps":8012,"distance":5.1,"active_energy":310,"exercise_minutes":30,
             "flights_climbed":7,"vo2_max":41.2,"active_minutes":55,"resting_heart_rate":58}}
            """, "activity_level",
            [
                .steps: 8012, .distance: 5.1, .activeEnergy: 310, .exerciseMinutes: 30,
                .flightsClimbed: 7, .vo2Max: 41.2, .activeMinutes: 55, .restingHeartRate: 58,
            ])
        expect(
            """
            {"mental_health_data":{"mood_score":"good","stress_level":3,"anxiety_level":2,
             "energy_level":7,"focus_rating":6,"social_interaction_minutes":45,
             "meditation_minutes":10,"notes":"invented"}}
            """, "mood_assessment",
            [
                .mood: 4, .stress: 3, .anxiety: 2, .energy: 7, .focus: 6, .socialMinutes: 45,
                .meditationMinutes: 10,
            ])
    }

    @Test func `a night has its stages and its own time`() {
        let json = """
            {"sleep_data":{"total_sleep_minutes":431,"sleep_efficiency":0.91,"wake_count":2,
             "sleep_stages":{"awake":20,"light":250,"deep":80,"rem":101},
             "sleep_start":"2026-01-01T22:30:00Z","sleep_end":"2026-01-02T06:30:00Z"}}
            """

        expect(
            json, "sleep_analysis",
            [
                .totalSleep: 431, .sleepEfficiency: 0.91, .wakeCount: 2, .awake: 20,
                .lightSleep: 250, .deepSleep: 80, .remSleep: 101,
            ])
        let span = numbers(json, "sleep_analysis").span
        #expect(span?.lowerBound.description == "2026-01-01T22:30:00Z")
        #expect(span?.upperBound.description == "2026-01-02T06:30:00Z")
    }

    @Test func `the time of other metrics is in what their sender said`() {
        let json = """
            {"activity_data":{"steps":1},"metadata":{"start_date":"2026-01-01T00:00:00Z",
             "end_date":"2026-01-02T00:00:00Z"}}
            """

        #expect(
            numbers(json, "activity_level").span.map { $0.upperBound - $0.lowerBound }
                == .seconds(86_400))
    }

    @Test(arguments: [
        "", "[]", "nothing", #"{"value":"61"}"#, #"{"value":null}"#, #"{"biometric_data":[1]}"#,
        #"{"activity_data":{"steps":"8000"}}"#, #"{"mental_health_data":{"mood_score":"odd"}}"#,
        #"{"metadata":{"start_date":1,"end_date":"2026-01-02T00:00:00Z"}}"#,
    ])
    func `what has another shape has no numbers`(json: String) {
        #expect(numbers(json, "heart_rate") == MetricNumbers())
    }
}
