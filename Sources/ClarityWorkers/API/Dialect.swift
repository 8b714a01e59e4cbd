public import ClarityJobs

/// One version of the backend's contract, as data.
///
/// Another version is another value: the client asks the dialect and never which one it is.
public struct Dialect: Hashable, Sendable {
    /// Where the calls go, below the base URL; `{id}` stands for the id that a path names.
    public struct Paths: Hashable, Sendable {
        public var login: String
        public var refresh: String
        public var logout: String
        public var me: String
        public var upload: String
        public var processing: String
        public var healthData: String
        public var insightHistory: String

        /// Creates the paths, each beginning with `/`.
        public init(
            login: String, refresh: String, logout: String, me: String, upload: String,
            processing: String, healthData: String, insightHistory: String
        ) {
            self.login = login
            self.refresh = refresh
            self.logout = logout
            self.me = me
            self.upload = upload
            self.processing = processing
            self.healthData = healthData
            self.insightHistory = insightHistory
        }
    }

    /// What the backend takes at once.
    public struct Limits: Hashable, Sendable {
        /// The metrics of one upload.
        public var metricsPerRequest: Int
        /// The bytes of one request's body.
        public var requestBytes: Int

        /// Creates limits of at least 1.
        public init(metricsPerRequest: Int, requestBytes: Int) {
            self.metricsPerRequest = metricsPerRequest
            self.requestBytes = requestBytes
        }
    }

    /// The object that holds a metric's numbers.
    public struct Payload: Hashable, Sendable {
        public var name: String
        /// The field for the instant of measurement, where the object has one.
        public var timestamp: String?

        /// Creates a payload's description.
        public init(_ name: String, timestamp: String? = nil) {
            self.name = name
            self.timestamp = timestamp
        }
    }

    /// How one kind of sample is written.
    public struct Field: Hashable, Sendable {
        public var metricType: String
        public var payload: Payload
        /// The names of the sample's numbers: one, or systolic and diastolic.
        public var names: [String]
        /// Whether the backend counts, so that a number is rounded to a whole one.
        public var isWhole: Bool

        /// Creates a field's description.
        public init(
            _ metricType: String, _ payload: Payload, _ names: String..., isWhole: Bool = false
        ) {
            self.metricType = metricType
            self.payload = payload
            self.names = names
            self.isWhole = isWhole
        }
    }

    /// The dialect's name in the job file.
    public var name: String
    public var paths: Paths
    public var limits: Limits
    /// The backend's name for where uploaded samples came from.
    public var uploadSource: String
    /// The kinds that the backend accepts; what is missing here is never sent.
    public var fields: [SampleKind: Field]

    /// Creates a dialect.
    public init(
        name: String, paths: Paths, limits: Limits, uploadSource: String,
        fields: [SampleKind: Field]
    ) {
        self.name = name
        self.paths = paths
        self.limits = limits
        self.uploadSource = uploadSource
        self.fields = fields
    }

    /// Whether the backend has a field for `kind`.
    public func accepts(_ kind: SampleKind) -> Bool { fields[kind] != nil }
}

extension Dialect {
    /// The contract of the product's founding documents.
    public static let blueprint = Dialect(
        name: "blueprint",
        paths: Paths(
            login: "/auth/login", refresh: "/auth/refresh", logout: "/auth/logout",
            me: "/auth/me", upload: "/health-data/upload",
            processing: "/health-data/processing/{id}", healthData: "/health-data",
            insightHistory: "/insights/history/{id}"),
        limits: Limits(metricsPerRequest: 100, requestBytes: 1024 * 1024),
        uploadSource: "apple_health",
        fields: blueprintFields)

    private static var blueprintFields: [SampleKind: Field] {
        let biometric = Payload("biometric_data")
        let activity = Payload("activity_data")
        let mind = Payload("mental_health_data", timestamp: "timestamp")
        return [
            .heartRate: Field("heart_rate", biometric, "heart_rate"),
            .heartRateVariability: Field(
                "heart_rate_variability", biometric, "heart_rate_variability"),
            .bloodPressure: Field(
                "blood_pressure", biometric, "blood_pressure_systolic",
                "blood_pressure_diastolic", isWhole: true),
            .oxygenSaturation: Field("blood_oxygen", biometric, "oxygen_saturation"),
            .respiratoryRate: Field("respiratory_rate", biometric, "respiratory_rate"),
            .steps: Field("activity_level", activity, "steps", isWhole: true),
            .distance: Field("activity_level", activity, "distance"),
            .activeEnergy: Field("activity_level", activity, "active_energy"),
            .exerciseMinutes: Field("activity_level", activity, "exercise_minutes", isWhole: true),
            .flightsClimbed: Field("activity_level", activity, "flights_climbed", isWhole: true),
            .vo2Max: Field("activity_level", activity, "vo2_max"),
            .restingHeartRate: Field("activity_level", activity, "resting_heart_rate"),
            .meditationMinutes: Field("mood_assessment", mind, "meditation_minutes", isWhole: true),
        ]
    }
}
