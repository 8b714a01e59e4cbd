import HealthModel

extension Dialect {
    /// The contract of the deployed backend, as measured.
    public static let loop = Dialect(
        name: "loop",
        greeting: .service("authentication"),
        routes: [
            .register: Route(
                .post, "/auth/register", isAuthorized: false, [.email, .password],
                optional: [.displayName], window: .seconds(3600)),
            // Never repeated automatically: a refusal counts towards the lock of the account, even
            // one that an outage of the backend causes.
            .login: Route(
                .post, "/auth/login", isAuthorized: false, [.email, .password, .rememberMe],
                window: .seconds(60)),
            // The backend would take a token in the header for the refresh token. It does not
            // replace the refresh token.
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
            // The deployed backend takes the last part of this path for an insight's id.
            .insightStatus: Route(.get, "/insights/status", mustExist: false),
            .serviceHealth: Route(.get, "/health", isAuthorized: false),
        ],
        endpoints: [
            // The backend keeps only the last metric of each type in a request, and reports all of
            // them as accepted.
            .metrics: UploadEndpoint(
                route: .metrics, format: .metrics(SampleKind.fields(\.loop)),
                samplesPerRequest: 1000, perType: 1,
                requestBytes: 5 * 1024 * 1024, requestsPerHour: 100, isIdempotent: false,
                takesFuture: true,
                // Read from the stored upload; nothing ever changes it.
                storageProof: .status("received")),
            // The backend answers after it has stored the upload. Its status is the same for every
            // id, also for one that never existed.
            .samples: UploadEndpoint(
                route: .samples, format: .healthKit,
                samplesPerRequest: 1000,
                requestBytes: 5 * 1024 * 1024, isIdempotent: false,
                takesFuture: true, storageProof: .acceptance),
        ],
        standardRoute: .samples,
        paging: .offset,
        lowersUserIDs: true,
        passwordRule: PasswordRule(length: 8, needsKinds: false),
        analysisLimits: AnalysisLimits(
            steps: 1...20_160, points: 1...20_160, hours: 1...168, metadata: 50),
        // The backend answers 500 to every analysis of steps.
        analysisForm: .actigraphy,
        insightNumbers: [
            "sleep_efficiency", "circadian_rhythm_score", "depression_risk_score",
            "total_sleep_time", "wake_after_sleep_onset", "sleep_onset_latency",
        ],
        // The path exists, but answers 404 to every id.
        givesInsightsInFull: false,
        // The keys to check the token with may have been unreachable.
        refusalOfTokenIsCertain: false,
        // The backend answers 400 when its data store fails, before or after it has stored an
        // upload.
        refusalOfUploadIsCertain: false,
        meanings: loopMeanings,
        knownFaults: [metricsFault, listFault])

    private static var metricsFault: KnownFault {
        KnownFault(
            subject: "route `metrics`",
            words:
                "as measured, it answers 500 to every upload of metrics; uploads of samples, the "
                + "default, work")
    }

    private static var listFault: KnownFault {
        KnownFault(
            subject: "list of metrics",
            words: "as measured, it is always empty; uploads, insights and the profile work")
    }

    private static var insightsFault: KnownFault {
        KnownFault(
            subject: "insights",
            words: "it shows neither their state nor a single one (404); their history works")
    }

    /// The true meanings of the deployed backend's answers.
    ///
    /// Its 400 may be an outage, and so may its 401 to a login. Its 500 may be an expired token.
    /// Often only the beginning of the text tells them apart; the comparison keeps nothing of the
    /// text.
    private static var loopMeanings: [Meaning] {
        let uploads: Set<APICall> = [.uploadMetrics, .uploadSamples]
        let analyses: Set<APICall> = [.analyseSteps, .analyseActigraphy]
        let mails: Set<APICall> = [
            .verifyEmail, .resendVerification, .forgotPassword, .resetPassword,
        ]
        return [
            // The limiter crashes at each upload, but so may anything else.
            Meaning(
                [.uploadMetrics], 500, .plain("Internal Server Error"),
                .error(.knownFault(metricsFault, status: 500))),
            Meaning([.insightStatus], 404, .any, .error(.knownFault(insightsFault, status: 404))),
            // The backend's storage is unreachable or throttled; the upload may be stored.
            Meaning(
                [.uploadMetrics], 400,
                .opening("Health data processing failed: Health data processing failed: "), .outage
            ),
            Meaning(
                [.uploadMetrics], 400, .opening("Health data processing failed: Failed to "),
                .outage),
            Meaning(nil, 400, .opening("Failed to "), .outage),
            // The backend answers this before it looks at the content.
            Meaning(
                uploads, 400, .opening("There was an error parsing the body"),
                .error(.rejected(status: 400))),
            // A type that is not accepted, or a missing payload. The answer does not say which
            // metric is at fault.
            Meaning(
                [.uploadMetrics], 400,
                .opening("Health data processing failed: Health data validation failed"), .refusal),
            // An id that is unknown, removed, another user's or expired has no status of its own.
            Meaning([.metricsStatus], 400, .opening("Processing job "), .error(.notFound)),
            // The backend refuses a login in the same words when its user directory is unreachable.
            Meaning([.login], 401, .any, .error(.loginUnclear)),
            Meaning([.login], 403, .code("email_not_verified"), .error(.emailNotVerified)),
            Meaning(
                [.login], 429, .code("account_locked"),
                .error(.accountLocked(for: .seconds(15 * 60)))),
            // An expired token and an outage look alike.
            Meaning([.refresh], 500, .code("refresh_error"), .error(.renewalUnclear)),
            Meaning([.register], 403, .code("self_signup_disabled"), .error(.signupClosed)),
            Meaning([.register], 409, .any, .error(.accountExists)),
            Meaning(
                [.register, .resetPassword], 400, .opening("[INVALID_CREDENTIALS]"),
                .error(.passwordRefused(nil))),
            Meaning(mails, 400, .code("invalid_code"), .error(.codeRefused)),
            Meaning(mails, 404, .code("user_not_found"), .error(.noSuchUser)),
            // A firewall in front of the backend answers in HTML.
            Meaning(nil, 403, .notJSON, .error(.blocked)),
            Meaning(analyses, 500, .opening("Analysis failed"), .error(.analysisFailed)),
            // An upload of another user's samples; the client sends only its own user's.
            Meaning(uploads, 403, .any, .error(.forbidden)),
        ]
    }
}

extension Dialect {
    /// The contract of the product's founding documents.
    public static let blueprint = Dialect(
        name: "blueprint",
        greeting: .nothing,
        routes: [
            .register: Route(
                .post, "/auth/register", isAuthorized: false,
                [.email, .password, .firstName, .lastName, .termsAccepted, .privacyPolicyAccepted],
                optional: [.phoneNumber]),
            .login: Route(
                .post, "/auth/login", isAuthorized: false, [.email, .password, .rememberMe],
                isRepeatable: true),
            // The access token has expired by now; the refresh token in the body is proof enough.
            .refresh: Route(
                .post, "/auth/refresh", isAuthorized: false, [.refreshToken], isRepeatable: true),
            .logout: Route(.post, "/auth/logout", [.refreshToken], isRepeatable: true),
            .me: Route(.get, "/auth/me"),
            .verifyEmail: Route(.post, "/auth/verify-email", [.code], isRepeatable: true),
            .uploadSamples: Route(.post, "/healthkit_upload"),
            .samplesStatus: Route(.get, "/healthkit_upload/status/{id}"),
            // The backend keeps each metric id once, so a repeated request adds nothing.
            .uploadMetrics: Route(.post, "/health-data/upload", isRepeatable: true),
            .metricsStatus: Route(.get, "/health-data/processing/{id}"),
            .healthData: Route(.get, "/health-data"),
            .analyseSteps: Route(.post, "/pat/analyze-step-data"),
            .analyseActigraphy: Route(.post, "/pat/analyze"),
            .analysis: Route(.get, "/pat/analysis/{id}"),
            .actigraphyHealth: Route(.get, "/pat/health", isAuthorized: false),
            .generateInsight: Route(.post, "/insights/generate"),
            .insight: Route(.get, "/insights/{id}"),
            .insightHistory: Route(.get, "/insights/history/{id}"),
            .insightStatus: Route(.get, "/insights/status"),
            .serviceHealth: Route(.get, "/health", isAuthorized: false, mustExist: false),
        ],
        endpoints: [
            .metrics: UploadEndpoint(
                route: .metrics, format: .metrics(SampleKind.fields(\.blueprint)),
                samplesPerRequest: 100,
                requestBytes: 1024 * 1024, isIdempotent: true,
                takesFuture: false, wholeProgress: 100),
            .samples: UploadEndpoint(
                route: .samples, format: .healthKit,
                samplesPerRequest: 1000,
                requestBytes: 1024 * 1024, isIdempotent: false,
                takesFuture: false, wholeProgress: 1),
        ],
        standardRoute: .metrics,
        paging: .cursor,
        lowersUserIDs: false,
        passwordRule: PasswordRule(length: 8, needsKinds: true),
        analysisLimits: AnalysisLimits(
            steps: 1...10_080, points: 1...10_080, hours: 1...168, metadata: 50),
        analysisForm: .steps,
        insightNumbers: nil,
        givesInsightsInFull: true,
        refusalOfTokenIsCertain: true,
        refusalOfUploadIsCertain: true,
        meanings: [
            Meaning([.register], 409, .any, .error(.accountExists)),
            Meaning([.verifyEmail], 400, .code("invalid_code"), .error(.codeRefused)),
        ])
}
