extension Dialect {
    /// The contract of the deployed backend, as in its generated schema.
    static let loop = Dialect(
        name: "loop",
        basePath: "/api/v1",
        endpoints: [
            .exact(.register, "POST /auth/register", isOpen: true),
            .exact(.login, "POST /auth/login", isOpen: true),
            .exact(.refresh, "POST /auth/refresh", isOpen: true),
            // The route checks the token itself.
            .exact(.logout, "POST /auth/logout", isOpen: true),
            .exact(.me, "GET /auth/me"),
            .exact(.updateMe, "PUT /auth/me"),
            .exact(.verifyEmail, "POST /auth/confirm-email", isOpen: true),
            .exact(.resendConfirmation, "POST /auth/resend-confirmation", isOpen: true),
            .exact(.forgotPassword, "POST /auth/forgot-password", isOpen: true),
            .exact(.resetPassword, "POST /auth/reset-password", isOpen: true),
            .exact(.authHealth, "GET /auth/health", isOpen: true),
            // Collections work with and without a trailing slash.
            Endpoint(.uploadMetrics, "POST /health-data/"),
            Endpoint(.listMetrics, "GET /health-data/"),
            .exact(.metricsProcessing, "GET /health-data/processing/{id}"),
            .exact(.deleteMetrics, "DELETE /health-data/{id}"),
            .exact(.removedQuery, "GET /health-data/query"),
            .exact(.healthDataHealth, "GET /health-data/health"),
            Endpoint(.uploadHealthKit, "POST /healthkit/"),
            .exact(.healthKitStatus, "GET /healthkit/status/{id}"),
            Endpoint(.analyzeSteps, "POST /pat/step-analysis"),
            Endpoint(.analyzeActigraphy, "POST /pat/analysis"),
            .exact(.analysis, "GET /pat/analysis/{id}"),
            .exact(.actigraphyHealth, "GET /pat/health"),
            Endpoint(.generateInsight, "POST /insights/"),
            .exact(.insightHistory, "GET /insights/history/{user}"),
            .exact(.insightStatus, "GET /insights/status"),
            .exact(.insight, "GET /insights/{id}"),
            Endpoint(.index, "GET /", isOpen: true),
            // No handshake of a WebSocket succeeds.
            .exact(.socket, "GET /ws/health-analysis/{user}", isOpen: true),
            .exact(.health, "GET /health", isOpen: true),
            .exact(.readiness, "GET /health/ready", isOpen: true),
        ],
        outside: [
            .exact(.rootHealth, "GET /health", isOpen: true)
        ],
        limits: Limits(
            bodyBytes: 5 * 1024 * 1024, metricsPerUpload: 1...1000,
            dataPage: 1...1000, usualDataPage: 50,
            insightPage: 1...1000, usualInsightPage: 10,
            analysisPoints: 1...20_160, analysisHours: 1...168),
        payloads: [biometric, sleep, activity, mentalHealth],
        metrics: blueprint.metrics + [
            MetricRule(type: "body_temperature", payload: "biometric_data"),
            MetricRule(type: "blood_glucose", payload: "biometric_data"),
        ],
        uploadSources: [],
        rates: [
            .register: RateLimit(count: 5, seconds: 3600, scope: .everybody),
            .login: RateLimit(count: 10, seconds: 60, scope: .everybody),
            .uploadMetrics: RateLimit(count: 100, seconds: 3600, scope: .user),
            .analyzeSteps: RateLimit(count: 20, seconds: 3600, scope: .user),
        ],
        processedTypes: [
            "heart_rate", "blood_pressure", "sleep_analysis", "activity_level", "mood_assessment",
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

    private static let mentalHealth = PayloadRule.mentalHealth(
        social: .count(0...1440), meditation: .count(0...480), notes: 1000)
}
