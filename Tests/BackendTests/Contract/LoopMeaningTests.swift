import ClarityScheduler
import Testing

@testable import Backend
@testable import BackendContract

/// Tests the meaning of the deployed backend's answers, as they were measured.
struct LoopMeaningTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let call: APICall
        let status: Int
        let body: String
        let error: APIError?

        init(_ call: APICall, _ status: Int, _ body: String, _ error: APIError?) {
            self.call = call
            self.status = status
            self.body = body
            self.error = error
        }

        var testDescription: String { "\(call) \(status) \(body.prefix(60))" }
    }

    /// Returns a body of the form `{"detail": ...}`.
    static func detail(_ json: String) -> String { #"{"detail":\#(json)}"# }

    /// Returns a problem object below `detail`.
    static func problem(_ status: Int, _ type: String) -> String {
        detail(
            #"{"type":"\#(type)","title":"T","status":\#(status),"detail":"D","instance":"<0x7f>","#
                + #""trace_id":null,"errors":null,"help_url":null}"#)
    }

    static let twice = "Health data processing failed: Health data processing failed: "
    static let once = "Health data processing failed: Health data validation failed: "
    static let echo = """
        {"type":"less_than_equal","loc":["body","metrics",3,"biometric_data","heart_rate"],\
        "msg":"Input should be less than or equal to 300","input":301,"ctx":{"le":300.0}}
        """

    static let outages = [
        Row(
            .uploadMetrics, 400, detail(#""\#(twice)Failed to save health data""#),
            .unavailable(status: 400)),
        Row(
            .metricsStatus, 400, detail(#""Failed to get processing status: no answer""#),
            .unavailable(status: 400)),
        Row(
            .healthData, 400, detail(#""Failed to retrieve health data: no answer""#),
            .unavailable(status: 400)),
        Row(
            .deleteHealthData, 400, detail(#""Failed to delete health data: no answer""#),
            .unavailable(status: 400)),
        Row(.uploadMetrics, 500, "Internal Server Error\n", .server(status: 500, after: nil)),
        Row(.uploadSamples, 500, "Internal Server Error", .server(status: 500, after: nil)),
        Row(.analyseSteps, 500, "Internal Server Error", .server(status: 500, after: nil)),
        // One of the causes is another user's id, but this client sends its own.
        Row(
            .uploadMetrics, 500,
            detail(#""An unexpected error occurred while processing health data upload""#),
            .server(status: 500, after: nil)),
        Row(
            .uploadSamples, 500, detail(#""Failed to process health data upload""#),
            .server(status: 500, after: nil)),
        Row(
            .generateInsight, 503, detail(#""Insight generation is temporarily unavailable""#),
            .server(status: 503, after: nil)),
        Row(.login, 401, problem(401, "invalid_credentials"), .loginUnclear),
        Row(.refresh, 500, problem(500, "refresh_error"), .renewalUnclear),
        Row(.refresh, 500, "Internal Server Error", .server(status: 500, after: nil)),
        Row(.me, 401, detail(#""Authentication required""#), .unauthorized),
        Row(.login, 500, problem(500, "authentication_error"), .server(status: 500, after: nil)),
    ]

    static let refusals = [
        Row(
            .uploadMetrics, 400, detail(#""\#(once)Validation failed: 1 errors""#),
            .validation(indices: [])),
        Row(.uploadMetrics, 422, detail("[\(echo)]"), .validation(indices: [3])),
        Row(
            .uploadMetrics, 422,
            detail(#"[{"type":"value_error","loc":["body","metrics"],"msg":"m","input":[1]}]"#),
            .validation(indices: [])),
        Row(
            .uploadMetrics, 400, detail(#""There was an error parsing the body""#),
            .rejected(status: 400)),
        Row(.healthData, 400, detail(#""Invalid cursor""#), .rejected(status: 400)),
        Row(.metricsStatus, 400, detail(#""Processing job 9-b not found""#), .notFound),
        Row(.samplesStatus, 403, detail(#""Access denied to this upload""#), .forbidden),
        Row(
            .uploadSamples, 403, detail(#""Cannot upload data for a different user""#), .forbidden),
        Row(
            .insightHistory, 403, detail(#"{"code":"ACCESS_DENIED","message":"m"}"#), .forbidden),
        Row(.generateInsight, 403, detail(#"{"code":"ACCOUNT_DISABLED"}"#), .forbidden),
        Row(.insight, 404, detail(#"{"code":"INSIGHT_NOT_FOUND"}"#), .notFound),
        Row(
            .insightHistory, 500, detail(#"{"code":"HISTORY_RETRIEVAL_FAILED"}"#),
            .server(status: 500, after: nil)),
        Row(.uploadMetrics, 404, detail(#""Not Found""#), .noSuchCall(status: 404)),
        Row(.uploadMetrics, 405, detail(#""Method Not Allowed""#), .noSuchCall(status: 405)),
        Row(.analysis, 405, detail(#""Method Not Allowed""#), .noSuchCall(status: 405)),
        Row(
            .healthData, 410, detail(#"{"error":"Endpoint Permanently Removed"}"#), .gone),
        Row(.uploadSamples, 403, "<html>Request blocked</html>", .blocked),
        Row(.me, 403, "", .blocked),
        Row(
            .uploadSamples, 413, #"{"error":"Request payload too large","max_size_mb":5.0}"#,
            .requestTooLarge),
        Row(
            .analyseSteps, 500,
            detail(#"{"analysis_id":"a","error":"Analysis failed","message":"m"}"#),
            .analysisFailed),
        Row(.me, 307, "", .redirected(status: 307)),
    ]

    static let accounts = [
        Row(.login, 403, problem(403, "email_not_verified"), .emailNotVerified),
        Row(.login, 429, problem(429, "account_locked"), .accountLocked(for: .seconds(900))),
        Row(.register, 403, problem(403, "self_signup_disabled"), .signupClosed),
        Row(
            .register, 409, detail(#""[AUTHENTICATION_ERROR] User already exists""#), .accountExists
        ),
        Row(.register, 400, detail(#""[INVALID_CREDENTIALS] the policy""#), .passwordRefused(nil)),
        Row(.verifyEmail, 400, problem(400, "invalid_code"), .codeRefused),
        Row(.resetPassword, 400, problem(400, "invalid_code"), .codeRefused),
        Row(.forgotPassword, 404, problem(404, "user_not_found"), .noSuchUser),
        Row(.refresh, 422, problem(422, "missing_refresh_token"), .validation(indices: [])),
        Row(.logout, 401, problem(401, "authentication_required"), .unauthorized),
    ]

    @Test(arguments: outages)
    func `an answer that may be an outage is not taken for a refusal`(row: Row) {
        expect(row)
    }

    @Test(arguments: refusals)
    func `a refusal is not taken for an outage`(row: Row) { expect(row) }

    @Test(arguments: accounts)
    func `each message about an account has its error`(row: Row) { expect(row) }

    private func expect(_ row: Row) {
        let response = HTTPResponse(status: row.status, body: Array(row.body.utf8))

        #expect(Dialect.loop.error(in: response, to: row.call, now: morning) == row.error)
    }

    @Test(arguments: [
        (APICall.login, Duration.seconds(60)), (.register, .seconds(3600)),
        (.uploadMetrics, .seconds(3600)), (.analyseSteps, .seconds(3600)),
    ])
    func `a limit lasts as long as its window, whatever the answer asks for`(
        call: APICall, window: Duration
    ) {
        let body = #"{"type":"rate_limit_exceeded","title":"Too Many Requests","status":429}"#
        let response = HTTPResponse(
            status: 429, headers: ["retry-after": "0", "x-ratelimit-remaining": "10"],
            body: Array(body.utf8))

        let error = Dialect.loop.error(in: response, to: call, now: morning)

        #expect(error == .rateLimited(after: window))
        #expect(error?.classification.course == .snooze)
    }

    /// Neither is a fault of the samples or of the user's settings.
    @Test(arguments: [
        (
            APICall.uploadMetrics, 500, "Internal Server Error",
            "a known fault of the backend, nothing for you to mend: as measured, it answers 500 to "
                + "every upload of metrics; uploads of samples, the default, work"
        ),
        (
            .insightStatus, 404, LoopMeaningTests.detail(#"{"code":"INSIGHT_NOT_FOUND"}"#),
            "a known fault of the backend, nothing for you to mend: it shows neither their state "
                + "nor a single one (404); their history works"
        ),
    ])
    func `a known fault is named as one, and a run may meet a repaired backend later`(
        call: APICall, status: Int, body: String, sentence: String
    ) {
        let response = HTTPResponse(status: status, body: Array(body.utf8))

        let error = Dialect.loop.error(in: response, to: call, now: morning)
        let other = Dialect.blueprint.error(in: response, to: call, now: morning)

        #expect(error?.outcome == .retry(after: nil, Failure(.unreachable, sentence)))
        #expect(error?.answeredStatus == status)
        #expect(error?.mayHaveArrived == true)
        #expect(other?.classification.sentence.contains("known fault") == false)
    }

    @Test func `the same 400 is a refusal where the contract has no outages of it`() {
        let body = LoopMeaningTests.detail(#""\#(LoopMeaningTests.twice)Failed to save""#)
        let response = HTTPResponse(status: 400, body: Array(body.utf8))

        let error = Dialect.blueprint.error(in: response, to: .uploadMetrics, now: morning)

        #expect(error == .rejected(status: 400))
    }

    @Test func `a success is no error`() {
        for call in APICall.allCases {
            let response = HTTPResponse(status: 202, body: Array("<html>".utf8))
            #expect(Dialect.loop.error(in: response, to: call, now: morning) == nil)
        }
    }

    @Test func `a refusal with the whole upload in it is read, and none of it kept`() {
        let items = (0..<1001).map { _ in LoopMeaningTests.echo }.joined(separator: ",")
        let body = LoopMeaningTests.detail("[\(items)]")

        let error = Dialect.loop.error(
            in: HTTPResponse(status: 422, body: Array(body.utf8)), to: .uploadMetrics, now: morning)

        #expect(error == .validation(indices: [3]))
        #expect(!"\(String(reflecting: error))".contains("301"))
    }

    @Test func `a refusal beyond what is looked into names nothing`() {
        let body = "{\"detail\":\"" + String(repeating: "x", count: 1 << 20) + "\"}"

        let report = FaultReport(Array(body.utf8))

        #expect(!report.isJSON)
        #expect(report.faults.isEmpty)
    }
}
