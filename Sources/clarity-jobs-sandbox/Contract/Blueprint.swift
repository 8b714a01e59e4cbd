extension Dialect {
    /// The contract that the blueprint defines.
    static let blueprint = Dialect(
        name: "blueprint",
        basePath: "/api/v1",
        endpoints: [
            Endpoint(.register, "POST /auth/register", isOpen: true),
            Endpoint(.login, "POST /auth/login", isOpen: true),
            // The access token has expired when this is called, so only the body authenticates the
            // caller.
            Endpoint(.refresh, "POST /auth/refresh", isOpen: true),
            Endpoint(.logout, "POST /auth/logout"),
            Endpoint(.me, "GET /auth/me"),
            Endpoint(.verifyEmail, "POST /auth/verify-email"),
            Endpoint(.uploadHealthKit, "POST /healthkit_upload"),
            Endpoint(.healthKitStatus, "GET /healthkit_upload/status/{id}"),
            Endpoint(.uploadMetrics, "POST /health-data/upload"),
            Endpoint(.metricsProcessing, "GET /health-data/processing/{id}"),
            Endpoint(.listMetrics, "GET /health-data"),
            Endpoint(.analyzeSteps, "POST /pat/analyze-step-data"),
            Endpoint(.analyzeActigraphy, "POST /pat/analyze"),
            Endpoint(.analysis, "GET /pat/analysis/{id}"),
            Endpoint(.actigraphyHealth, "GET /pat/health", isOpen: true),
            Endpoint(.generateInsight, "POST /insights/generate"),
            Endpoint(.insightStatus, "GET /insights/status"),
            Endpoint(.insightHistory, "GET /insights/history/{user}"),
            Endpoint(.insight, "GET /insights/{id}"),
            Endpoint(.health, "GET /health", isOpen: true),
        ],
        limits: Limits(
            bodyBytes: 5 * 1024 * 1024, metricsPerUpload: 1...100,
            dataPage: 1...500, usualDataPage: 50,
            insightPage: 1...100, usualInsightPage: 10,
            analysisPoints: 1...10_080, analysisHours: 0.1...168),
        payloads: [biometric, sleep, activity, mentalHealth],
        metrics: [
            MetricRule(
                type: "heart_rate", payload: "biometric_data", needs: ["heart_rate"],
                unit: "bpm"),
            MetricRule(
                type: "heart_rate_variability", payload: "biometric_data",
                needs: ["heart_rate_variability"], unit: "ms"),
            MetricRule(
                type: "blood_pressure", payload: "biometric_data",
                needs: ["blood_pressure_systolic", "blood_pressure_diastolic"]),
            MetricRule(
                type: "blood_oxygen", payload: "biometric_data", needs: ["oxygen_saturation"],
                unit: "%"),
            MetricRule(
                type: "respiratory_rate", payload: "biometric_data",
                needs: ["respiratory_rate"], unit: "/min"),
            MetricRule(type: "sleep_analysis", payload: "sleep_data"),
            MetricRule(type: "activity_level", payload: "activity_data"),
            MetricRule(type: "stress_indicators", payload: "mental_health_data"),
            MetricRule(type: "mood_assessment", payload: "mental_health_data"),
            MetricRule(type: "cognitive_metrics", payload: "mental_health_data"),
            // No payload has this type's name; body temperature comes closest.
            MetricRule(type: "environmental", payload: "biometric_data"),
        ],
        uploadSources: ["apple_health"])

    // The range of the heart rate comes from the contract. The others are what a living body, a day
    // or the scale itself allows: wide enough for extremes and narrow enough to catch a wrong unit.

    private static let biometric = PayloadRule(
        name: "biometric_data",
        fields: [
            FieldRule(name: "heart_rate", kind: .number(30...220)),
            FieldRule(name: "blood_pressure_systolic", kind: .number(50...300)),
            FieldRule(name: "blood_pressure_diastolic", kind: .number(20...200)),
            FieldRule(name: "oxygen_saturation", kind: .number(50...100)),
            FieldRule(name: "heart_rate_variability", kind: .number(0...1000)),
            FieldRule(name: "respiratory_rate", kind: .number(2...100)),
            FieldRule(name: "body_temperature", kind: .number(25...45)),
            FieldRule(name: "blood_glucose", kind: .number(10...1000)),
        ],
        ascending: [(lower: "blood_pressure_diastolic", upper: "blood_pressure_systolic")])

    private static let sleep = PayloadRule(
        name: "sleep_data",
        fields: [
            FieldRule(name: "total_sleep_minutes", kind: .number(0...1440), isRequired: true),
            FieldRule(name: "sleep_efficiency", kind: .number(0...1), isRequired: true),
            FieldRule(name: "time_to_sleep_minutes", kind: .number(0...1440)),
            FieldRule(name: "wake_count", kind: .count(0...500)),
            FieldRule(name: "sleep_stages", kind: .amounts(0...1440)),
            FieldRule(name: "sleep_start", kind: .instant, isRequired: true),
            FieldRule(name: "sleep_end", kind: .instant, isRequired: true),
        ],
        ascending: [(lower: "sleep_start", upper: "sleep_end")])

    private static let activity = PayloadRule(
        name: "activity_data",
        fields: [
            FieldRule(name: "steps", kind: .count(0...200_000)),
            FieldRule(name: "distance", kind: .number(0...1000)),
            FieldRule(name: "active_energy", kind: .number(0...20_000)),
            FieldRule(name: "exercise_minutes", kind: .number(0...1440)),
            FieldRule(name: "flights_climbed", kind: .count(0...5000)),
            FieldRule(name: "vo2_max", kind: .number(5...100)),
            FieldRule(name: "active_minutes", kind: .number(0...1440)),
            FieldRule(name: "resting_heart_rate", kind: .number(30...220)),
        ])

    private static let mentalHealth = PayloadRule.mentalHealth(
        social: .number(0...1440), meditation: .number(0...1440), notes: 5000)
}
