extension Dialect {
    /// The contract that the blueprint defines.
    static let blueprint = Dialect(
        name: "blueprint",
        basePath: "/api/v1",
        endpoints: [
            Endpoint(
                method: "POST", path: "/auth/register", operation: .register, isOpen: true),
            Endpoint(method: "POST", path: "/auth/login", operation: .login, isOpen: true),
            // The access token has expired when this is called, so only the body authenticates the
            // caller.
            Endpoint(method: "POST", path: "/auth/refresh", operation: .refresh, isOpen: true),
            Endpoint(method: "POST", path: "/auth/logout", operation: .logout),
            Endpoint(method: "GET", path: "/auth/me", operation: .me),
            Endpoint(method: "POST", path: "/auth/verify-email", operation: .verifyEmail),
            Endpoint(method: "POST", path: "/healthkit_upload", operation: .uploadHealthKit),
            Endpoint(
                method: "GET", path: "/healthkit_upload/status/{id}", operation: .healthKitStatus),
            Endpoint(method: "POST", path: "/health-data/upload", operation: .uploadMetrics),
            Endpoint(
                method: "GET", path: "/health-data/processing/{id}",
                operation: .metricsProcessing),
            Endpoint(method: "GET", path: "/health-data", operation: .listMetrics),
            Endpoint(method: "POST", path: "/pat/analyze-step-data", operation: .analyzeSteps),
            Endpoint(method: "POST", path: "/pat/analyze", operation: .analyzeActigraphy),
            Endpoint(method: "GET", path: "/pat/analysis/{id}", operation: .analysis),
            Endpoint(
                method: "GET", path: "/pat/health", operation: .actigraphyHealth, isOpen: true),
            Endpoint(method: "POST", path: "/insights/generate", operation: .generateInsight),
            Endpoint(method: "GET", path: "/insights/status", operation: .insightStatus),
            Endpoint(
                method: "GET", path: "/insights/history/{user}", operation: .insightHistory),
            Endpoint(method: "GET", path: "/insights/{id}", operation: .insight),
            Endpoint(method: "GET", path: "/health", operation: .health, isOpen: true),
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

    private static let mentalHealth = PayloadRule(
        name: "mental_health_data",
        fields: [
            FieldRule(
                name: "mood_score",
                kind: .choice(["very_low", "low", "neutral", "good", "excellent"])),
            FieldRule(name: "stress_level", kind: .number(1...10)),
            FieldRule(name: "anxiety_level", kind: .number(1...10)),
            FieldRule(name: "energy_level", kind: .number(1...10)),
            FieldRule(name: "focus_rating", kind: .number(1...10)),
            FieldRule(name: "social_interaction_minutes", kind: .number(0...1440)),
            FieldRule(name: "meditation_minutes", kind: .number(0...1440)),
            FieldRule(name: "notes", kind: .text(5000)),
            FieldRule(name: "timestamp", kind: .instant),
        ])
}
