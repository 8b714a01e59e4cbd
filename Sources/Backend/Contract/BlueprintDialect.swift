import HealthModel

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
