extension Dialect {
    /// The contract of the deployed backend, as in its generated schema.
    static let loop = Dialect(
        name: "loop",
        basePath: "/api/v1",
        endpoints: [
            Endpoint(
                method: "POST", path: "/auth/register", operation: .register, isOpen: true,
                isExact: true),
            Endpoint(
                method: "POST", path: "/auth/login", operation: .login, isOpen: true,
                isExact: true),
            Endpoint(
                method: "POST", path: "/auth/refresh", operation: .refresh, isOpen: true,
                isExact: true),
            // The route checks the token itself.
            Endpoint(
                method: "POST", path: "/auth/logout", operation: .logout, isOpen: true,
                isExact: true),
            Endpoint(method: "GET", path: "/auth/me", operation: .me, isExact: true),
            Endpoint(method: "PUT", path: "/auth/me", operation: .updateMe, isExact: true),
            Endpoint(
                method: "POST", path: "/auth/confirm-email", operation: .verifyEmail,
                isOpen: true, isExact: true),
            Endpoint(
                method: "POST", path: "/auth/resend-confirmation",
                operation: .resendConfirmation, isOpen: true, isExact: true),
            Endpoint(
                method: "POST", path: "/auth/forgot-password", operation: .forgotPassword,
                isOpen: true, isExact: true),
            Endpoint(
                method: "POST", path: "/auth/reset-password", operation: .resetPassword,
                isOpen: true, isExact: true),
            Endpoint(
                method: "GET", path: "/auth/health", operation: .authHealth, isOpen: true,
                isExact: true),
            // Collections work with and without a trailing slash.
            Endpoint(method: "POST", path: "/health-data/", operation: .uploadMetrics),
            Endpoint(method: "GET", path: "/health-data/", operation: .listMetrics),
            Endpoint(
                method: "GET", path: "/health-data/processing/{id}",
                operation: .metricsProcessing, isExact: true),
            Endpoint(
                method: "DELETE", path: "/health-data/{id}", operation: .deleteMetrics,
                isExact: true),
            Endpoint(
                method: "GET", path: "/health-data/query", operation: .removedQuery,
                isExact: true),
            Endpoint(
                method: "GET", path: "/health-data/health", operation: .healthDataHealth,
                isExact: true),
            Endpoint(method: "POST", path: "/healthkit/", operation: .uploadHealthKit),
            Endpoint(
                method: "GET", path: "/healthkit/status/{id}", operation: .healthKitStatus,
                isExact: true),
            Endpoint(method: "POST", path: "/pat/step-analysis", operation: .analyzeSteps),
            Endpoint(method: "POST", path: "/pat/analysis", operation: .analyzeActigraphy),
            Endpoint(
                method: "GET", path: "/pat/analysis/{id}", operation: .analysis, isExact: true),
            Endpoint(
                method: "GET", path: "/pat/health", operation: .actigraphyHealth,
                isExact: true),
            Endpoint(method: "POST", path: "/insights/", operation: .generateInsight),
            Endpoint(
                method: "GET", path: "/insights/history/{user}", operation: .insightHistory,
                isExact: true),
            Endpoint(
                method: "GET", path: "/insights/status", operation: .insightStatus,
                isExact: true),
            Endpoint(
                method: "GET", path: "/insights/{id}", operation: .insight, isExact: true),
            Endpoint(method: "GET", path: "/", operation: .index, isOpen: true),
            Endpoint(
                method: "GET", path: "/health", operation: .health, isOpen: true,
                isExact: true),
            Endpoint(
                method: "GET", path: "/health/ready", operation: .readiness, isOpen: true,
                isExact: true),
        ],
        outside: [
            Endpoint(
                method: "GET", path: "/health", operation: .rootHealth, isOpen: true,
                isExact: true)
        ],
        limits: Limits(
            bodyBytes: 5 * 1024 * 1024, metricsPerUpload: 1...1000,
            dataPage: 1...1000, usualDataPage: 50,
            insightPage: 1...1000, usualInsightPage: 10,
            analysisPoints: 1...20_160, analysisHours: 1...168),
        payloads: [biometric, sleep, activity, mentalHealth],
        metrics: [
            MetricRule(type: "heart_rate", payload: "biometric_data", isProcessed: true),
            MetricRule(type: "heart_rate_variability", payload: "biometric_data"),
            MetricRule(type: "blood_pressure", payload: "biometric_data", isProcessed: true),
            MetricRule(type: "blood_oxygen", payload: "biometric_data"),
            MetricRule(type: "respiratory_rate", payload: "biometric_data"),
            MetricRule(type: "sleep_analysis", payload: "sleep_data", isProcessed: true),
            MetricRule(type: "activity_level", payload: "activity_data", isProcessed: true),
            MetricRule(type: "stress_indicators", payload: "mental_health_data"),
            MetricRule(
                type: "mood_assessment", payload: "mental_health_data", isProcessed: true),
            MetricRule(type: "cognitive_metrics", payload: "mental_health_data"),
            MetricRule(type: "environmental", payload: "biometric_data"),
            MetricRule(type: "body_temperature", payload: "biometric_data"),
            MetricRule(type: "blood_glucose", payload: "biometric_data"),
        ],
        uploadSources: [],
        rates: [
            .register: RateLimit(count: 5, seconds: 3600, scope: .everybody),
            .login: RateLimit(count: 10, seconds: 60, scope: .everybody),
            .uploadMetrics: RateLimit(count: 100, seconds: 3600, scope: .user),
            .analyzeSteps: RateLimit(count: 20, seconds: 3600, scope: .user),
        ])

    private static let biometric = PayloadRule(
        name: "biometric_data",
        fields: [
            FieldRule(name: "heart_rate", kind: .number(30...300)),
            FieldRule(name: "blood_pressure_systolic", kind: .count(70...250)),
            FieldRule(name: "blood_pressure_diastolic", kind: .count(40...150)),
            FieldRule(name: "oxygen_saturation", kind: .number(70...100)),
            FieldRule(name: "heart_rate_variability", kind: .number(0...200)),
            FieldRule(name: "respiratory_rate", kind: .number(5...60)),
            FieldRule(name: "body_temperature", kind: .number(35...42)),
            FieldRule(name: "blood_glucose", kind: .number(50...500)),
        ])

    private static let sleep = PayloadRule(
        name: "sleep_data",
        fields: [
            FieldRule(name: "total_sleep_minutes", kind: .count(1...1e15), isRequired: true),
            FieldRule(name: "sleep_efficiency", kind: .number(0...1), isRequired: true),
            FieldRule(name: "time_to_sleep_minutes", kind: .count(0...180)),
            FieldRule(name: "wake_count", kind: .count(0...50)),
            FieldRule(name: "sleep_stages", kind: .counts(["awake", "light", "deep", "rem"])),
            FieldRule(name: "sleep_start", kind: .instant, isRequired: true),
            FieldRule(name: "sleep_end", kind: .instant, isRequired: true),
        ])

    private static let activity = PayloadRule(
        name: "activity_data",
        fields: [
            FieldRule(name: "steps", kind: .count(0...100_000)),
            FieldRule(name: "distance", kind: .number(0...100)),
            FieldRule(name: "active_energy", kind: .number(0...5000)),
            FieldRule(name: "exercise_minutes", kind: .count(0...1440)),
            FieldRule(name: "flights_climbed", kind: .count(0...500)),
            FieldRule(name: "vo2_max", kind: .number(10...80)),
            FieldRule(name: "active_minutes", kind: .count(0...1440)),
            FieldRule(name: "resting_heart_rate", kind: .number(30...120)),
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
            FieldRule(name: "social_interaction_minutes", kind: .count(0...1440)),
            FieldRule(name: "meditation_minutes", kind: .count(0...480)),
            FieldRule(name: "notes", kind: .text(1000)),
            FieldRule(name: "timestamp", kind: .instant),
        ])
}
