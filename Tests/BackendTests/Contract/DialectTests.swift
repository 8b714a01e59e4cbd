@testable import Backend
@testable import BackendContract
import HealthModel

import ClarityScheduler
import Testing

struct DialectTests {
    /// Lists calls: method, path, `+` if it needs a token, and `2` if it may be repeated.
    private func lines(of dialect: Dialect) -> [String] {
        APICall.allCases.compactMap { call in
            dialect.routes[call].map { route in
                "\(call) \(route.method.rawValue) \(route.path)"
                    + (route.isAuthorized ? " +" : "") + (route.isRepeatable ? " 2" : "")
            }
        }
    }

    @Test func `the blueprint dialect has exactly these calls`() {
        #expect(
            lines(of: .blueprint) == [
                "register POST /auth/register", "login POST /auth/login 2",
                "refresh POST /auth/refresh 2", "logout POST /auth/logout + 2",
                "me GET /auth/me + 2", "verifyEmail POST /auth/verify-email + 2",
                "uploadMetrics POST /health-data/upload + 2",
                "metricsStatus GET /health-data/processing/{id} + 2",
                "healthData GET /health-data + 2", "uploadSamples POST /healthkit_upload +",
                "samplesStatus GET /healthkit_upload/status/{id} + 2",
                "analyseSteps POST /pat/analyze-step-data +",
                "analyseActigraphy POST /pat/analyze +", "analysis GET /pat/analysis/{id} + 2",
                "actigraphyHealth GET /pat/health 2", "generateInsight POST /insights/generate +",
                "insight GET /insights/{id} + 2", "insightHistory GET /insights/history/{id} + 2",
                "insightStatus GET /insights/status + 2", "serviceHealth GET /health 2",
            ])
    }

    @Test func `the loop dialect has exactly these calls`() {
        #expect(
            lines(of: .loop) == [
                "register POST /auth/register", "login POST /auth/login",
                "refresh POST /auth/refresh 2", "logout POST /auth/logout + 2",
                "me GET /auth/me + 2", "updateMe PUT /auth/me + 2",
                "verifyEmail POST /auth/confirm-email 2",
                "resendVerification POST /auth/resend-confirmation",
                "forgotPassword POST /auth/forgot-password",
                "resetPassword POST /auth/reset-password", "uploadMetrics POST /health-data +",
                "metricsStatus GET /health-data/processing/{id} + 2",
                "healthData GET /health-data + 2", "deleteHealthData DELETE /health-data/{id} + 2",
                "uploadSamples POST /healthkit +", "samplesStatus GET /healthkit/status/{id} + 2",
                "analyseSteps POST /pat/step-analysis +", "analyseActigraphy POST /pat/analysis +",
                "analysis GET /pat/analysis/{id} + 2", "actigraphyHealth GET /pat/health + 2",
                "generateInsight POST /insights +", "insight GET /insights/{id} + 2",
                "insightHistory GET /insights/history/{id} + 2",
                "insightStatus GET /insights/status + 2", "serviceHealth GET /health 2",
            ])
    }

    @Test func `paths are exact, since another form leads elsewhere`() {
        for dialect in Dialect.all {
            for route in dialect.routes.values { #expect(!route.path.hasSuffix("/")) }
        }
    }

    @Test func `a dialect is found by its name`() {
        #expect(Dialect.all.map(\.name) == ["blueprint", "loop"])
        #expect(Dialect.named("loop") == .loop)
        #expect(Dialect.named("v9") == nil)
    }

    @Test func `a call that a dialect lacks is a typed error`() async {
        let bench = ClientBench(.status(200))

        let mets = [
            await failure { () throws(APIError) in try await bench.client.updateMe() },
            await failure { () throws(APIError) in
                try await bench.client.forgotPassword("ada@example.com")
            },
            await failure { () throws(APIError) in try await bench.client.deleteHealthData("p") },
        ]

        #expect(
            mets == [
                .notOffered("the call `account change`"), .notOffered("the call `password mail`"),
                .notOffered("the call `health data removal`"),
            ])
        #expect(bench.transport.requests.isEmpty)
    }

    @Test(arguments: [
        ("Abcdef1!", true, true), ("Abcde1!", false, false), ("abcdef1!", false, true),
        ("ABCDEF1!", false, true), ("Abcdefg!", false, true), ("Abcdefg1", false, true),
    ])
    func `a password keeps to the rule of its dialect`(
        password: String, blueprint: Bool, loop: Bool
    ) {
        #expect(Dialect.blueprint.passwordRule.allows(Secret(password)) == blueprint)
        #expect(Dialect.loop.passwordRule.allows(Secret(password)) == loop)
    }
}
