import ClarityJobs

extension Dialect {
    /// The contract of the deployed backend, as measured.
    public static let loop = Dialect(
        name: "loop",
        greeting: .service("authentication"),
        routes: [
            .register: Route(
                .post, "/auth/register", isAuthorized: false, [.email, .password],
                optional: [.displayName], window: .seconds(3600)),
            // Never twice on its own: a refusal counts towards the lock of the account, even one
            // for an outage of the backend's.
            .login: Route(
                .post, "/auth/login", isAuthorized: false, [.email, .password, .rememberMe],
                window: .seconds(60)),
            // A token in the header would be taken for the refresh token. The token is not replaced.
            .refresh: Route(
                .post, "/auth/refresh", isAuthorized: false, [.refreshToken], isRepeatable: true),
            .logout: Route(.post, "/auth/logout", [.refreshToken], isRepeatable: true),
            .me: Route(.get, "/auth/me"),
            .updateMe: Route(.put, "/auth/me", optional: [.displayName, .email]),
            .verifyEmail: Route(
                .post, "/auth/confirm-email", isAuthorized: false, [.email, .code],
                isRepeatable: true),
            .resendVerification: Route(
                .post, "/auth/resend-confirmation", isAuthorized: false, [.email]),
            .forgotPassword: Route(.post, "/auth/forgot-password", isAuthorized: false, [.email]),
            .resetPassword: Route(
                .post, "/auth/reset-password", isAuthorized: false, [.email, .code, .newPassword]),
            .uploadSamples: Route(.post, "/healthkit"),
            .samplesStatus: Route(.get, "/healthkit/status/{id}"),
            .uploadMetrics: Route(.post, "/health-data", window: .seconds(3600)),
            .metricsStatus: Route(.get, "/health-data/processing/{id}"),
            .healthData: Route(.get, "/health-data"),
            .deleteHealthData: Route(.delete, "/health-data/{id}"),
            .analyseSteps: Route(.post, "/pat/step-analysis", window: .seconds(3600)),
            .analyseActigraphy: Route(.post, "/pat/analysis"),
            .analysis: Route(.get, "/pat/analysis/{id}"),
            .actigraphyHealth: Route(.get, "/pat/health"),
            .generateInsight: Route(.post, "/insights"),
            .insight: Route(.get, "/insights/{id}"),
            .insightHistory: Route(.get, "/insights/history/{id}"),
            // The path is taken for an insight's by the deployed backend.
            .insightStatus: Route(.get, "/insights/status", mustExist: false),
            .serviceHealth: Route(.get, "/health", isAuthorized: false),
        ],
        doors: [
            // Of the metrics of one type in a request the backend keeps the last, and calls all of
            // them accepted.
            .metrics: UploadEndpoint(
                call: .uploadMetrics, statusCall: .metricsStatus, form: .metrics(loopFields),
                source: "apple_health", samplesPerRequest: 1000, perType: 1,
                requestBytes: 5 * 1024 * 1024, requestsPerHour: 100, isIdempotent: false,
                takesFuture: true, wholeProgress: nil),
            // It says the same share of every upload at every time. `received` it reads from the
            // stored upload, and says nothing else ever after.
            .samples: UploadEndpoint(
                call: .uploadSamples, statusCall: .samplesStatus, form: .healthKit,
                source: "apple_health", samplesPerRequest: 1000, perType: nil,
                requestBytes: 5 * 1024 * 1024, requestsPerHour: nil, isIdempotent: false,
                takesFuture: true, wholeProgress: nil, storedWord: "received"),
        ],
        standardRoute: .samples,
        paging: .offset,
        lowersUserIDs: true,
        passwordRule: PasswordRule(length: 8, needsKinds: false),
        analysisLimits: AnalysisLimits(
            steps: 1...20_160, points: 1...20_160, hours: 1...168, metadata: 50),
        // It answers 500 to every analysis of steps.
        analysisForm: .actigraphy,
        insightNumbers: [
            "sleep_efficiency", "circadian_rhythm_score", "depression_risk_score",
            "total_sleep_time", "wake_after_sleep_onset", "sleep_onset_latency",
        ],
        // The path is there, and answers 404 to every id.
        givesInsightsInFull: false,
        // The keys to check it with may have been out of reach.
        refusalOfTokenIsCertain: false,
        // It answers 400 when its data store fails, before or after it has kept an upload.
        refusalOfUploadIsCertain: false,
        meanings: loopMeanings)

    /// The five types that are ever accepted, but for sleep: every upload with a night in it is
    /// answered 500. Were that repaired, a night with more than 30 minutes awake would be refused.
    private static var loopFields: [SampleKind: UploadEndpoint.Field] {
        typealias Field = UploadEndpoint.Field
        let biometric = UploadEndpoint.Payload("biometric_data")
        let activity = UploadEndpoint.Payload("activity_data")
        let mind = UploadEndpoint.Payload("mental_health_data", timestamp: "timestamp")
        return [
            .heartRate: Field("heart_rate", biometric, "heart_rate", in: [30...300]),
            .bloodPressure: Field(
                "blood_pressure", biometric, "blood_pressure_systolic",
                "blood_pressure_diastolic", in: [70...250, 40...150], isWhole: true),
            .steps: Field("activity_level", activity, "steps", in: [0...100_000], isWhole: true),
            .distance: Field("activity_level", activity, "distance", in: [0...100]),
            .activeEnergy: Field("activity_level", activity, "active_energy", in: [0...5000]),
            .exerciseMinutes: Field(
                "activity_level", activity, "exercise_minutes", in: [0...1440], isWhole: true),
            .flightsClimbed: Field(
                "activity_level", activity, "flights_climbed", in: [0...500], isWhole: true),
            .vo2Max: Field("activity_level", activity, "vo2_max", in: [10...80]),
            .restingHeartRate: Field(
                "activity_level", activity, "resting_heart_rate", in: [30...120]),
            .meditationMinutes: Field(
                "mood_assessment", mind, "meditation_minutes", in: [0...480], isWhole: true),
            .activity: Field("activity_level", activity),
        ]
    }

    /// What the deployed backend's answers really mean.
    ///
    /// Its 400 may be an outage, its 401 at a login too, and its 500 a token that has ended. How a
    /// text begins is all that tells them apart; nothing of it is kept.
    private static var loopMeanings: [Meaning] {
        let uploads: Set<APICall> = [.uploadMetrics, .uploadSamples]
        let analyses: Set<APICall> = [.analyseSteps, .analyseActigraphy]
        let mails: Set<APICall> = [
            .verifyEmail, .resendVerification, .forgotPassword, .resetPassword,
        ]
        return [
            // Storage that is out of reach or throttled; what was sent may be stored.
            Meaning(
                [.uploadMetrics], 400,
                .opening("Health data processing failed: Health data processing failed: "), .outage
            ),
            Meaning(
                [.uploadMetrics], 400, .opening("Health data processing failed: Failed to "),
                .outage),
            Meaning(nil, 400, .opening("Failed to "), .outage),
            // Said before anything looks at what was sent.
            Meaning(
                uploads, 400, .opening("There was an error parsing the body"),
                .error(.rejected(status: 400))),
            // A type that is not accepted, or a payload that is not there: which metric it is
            // about is not said.
            Meaning(
                [.uploadMetrics], 400,
                .opening("Health data processing failed: Health data validation failed"), .refusal),
            // Unknown, removed, another user's or expired ids have no status of their own.
            Meaning(
                [.metricsStatus, .samplesStatus], 400, .opening("Processing job "),
                .error(.notFound)),
            Meaning([.samplesStatus], 400, .opening("Invalid upload ID"), .error(.notFound)),
            // A login is refused in the same words when the directory is out of reach.
            Meaning([.login], 401, .any, .error(.loginUnclear)),
            Meaning([.login], 403, .code("email_not_verified"), .error(.emailNotVerified)),
            Meaning(
                [.login], 429, .code("account_locked"),
                .error(.accountLocked(for: .seconds(15 * 60)))),
            // A token that has ended and an outage look alike.
            Meaning([.refresh], 500, .code("refresh_error"), .error(.renewalUnclear)),
            Meaning([.register], 403, .code("self_signup_disabled"), .error(.signupClosed)),
            Meaning([.register], 409, .any, .error(.accountExists)),
            Meaning(
                [.register, .resetPassword], 400, .opening("[INVALID_CREDENTIALS]"),
                .error(.passwordRefused)),
            Meaning(mails, 400, .code("invalid_code"), .error(.codeRefused)),
            Meaning(mails, 404, .code("user_not_found"), .error(.notFound)),
            // A firewall in front of it answers in HTML.
            Meaning(nil, 403, .notJSON, .error(.blocked)),
            Meaning(analyses, 500, .opening("Analysis failed"), .error(.analysisFailed)),
            // Uploads of another user's samples; the client sends its own alone.
            Meaning(uploads, 403, .any, .error(.forbidden)),
        ]
    }
}
