import HealthModel
import ClarityScheduler
import Testing

@testable import Backend
@testable import BackendContract

/// Tests insights, analyses and uploads by their routes.
struct APIClientWorksTests {
    // MARK: Insights

    private let request = InsightRequest(
        results: ["total_sleep_time": 7.5, "sleep_efficiency": 91], context: "night",
        includesRecommendations: false)

    @Test func `an insight is made where the dialect has it`() async throws {
        let data = #"{"user_id":"u","narrative":"well","generated_at":"2026-11-20T06:00:00+00:00"}"#
        let answer = FakeTransport.Answer.status(
            200, #"{"success":true,"data":\#(data),"metadata":{"request_id":"r"}}"#)
        let blueprint = ClientBench(answer)
        let loop = ClientBench(answer, dialect: .loop)

        let insights = try await [
            blueprint.client.generateInsight(request), loop.client.generateInsight(request),
        ]

        #expect(
            insights
                == Array(
                    repeating: Insight(
                        id: nil, state: .completed, generatedAt: morning, json: Array(data.utf8)),
                    count: 2))
        #expect(blueprint.transport.calls == ["POST /insights/generate"])
        #expect(loop.transport.calls == ["POST /insights"])
        #expect(
            loop.transport.bodies == [
                #"{"analysis_results":{"sleep_efficiency":91.0,"total_sleep_time":7.5},"#
                    + #""context":"night","insight_type":"comprehensive","#
                    + #""include_recommendations":false,"language":"en"}"#
            ])
        #expect(!"\(insights)".contains("well"))
    }

    @Test func `a score that is no number is not sent`() async {
        let bench = ClientBench(.status(200), dialect: .loop)

        let met = await failure { () throws(APIError) in
            try await bench.client.generateInsight(InsightRequest(results: ["a": .nan]))
        }

        #expect(met == .refused("a result to make an insight of is no finite number"))
        #expect(bench.transport.requests.isEmpty)
    }

    @Test func `a request that failed at its session's renewal is not in doubt`() async {
        for call in 0..<2 {
            let bench = ClientBench(
                .status(500), dialect: .loop, session: testSession(life: .seconds(1)))

            let met = await failure { () throws(APIError) in
                if call == 0 {
                    _ = try await bench.client.generateInsight(request)
                } else {
                    _ = try await bench.client.analyse(steps)
                }
            }

            #expect(met?.mayHaveArrived == false)
            #expect(Set(bench.transport.calls) == ["POST /auth/refresh"])
        }
    }

    @Test func `a dialect says of what an insight is made, and whether it can be had by id`()
        async throws
    {
        let blueprint = ClientBench(.status(200)).client
        let loop = ClientBench(.status(200), dialect: .loop).client

        #expect(try await blueprint.insightNumbers() == nil)
        #expect(
            try await loop.insightNumbers() == [
                "sleep_efficiency", "circadian_rhythm_score", "depression_risk_score",
                "total_sleep_time", "wake_after_sleep_onset", "sleep_onset_latency",
            ])
        #expect(try await blueprint.givesInsightsInFull())
        #expect(try await !loop.givesInsightsInFull())
    }

    @Test(arguments: [500, 503])
    func `an insight that may have been made is not asked for twice`(status: Int) async {
        let bench = ClientBench(.status(status), dialect: .loop)

        let met = await failure { () throws(APIError) in
            try await bench.client.generateInsight(request)
        }

        #expect(met == .server(status: status, after: nil))
        #expect(bench.transport.requests.count == 1)
    }

    @Test(arguments: [
        (#"{"success":true,"data":{"id":"i","status":"generating"}}"#, Insight.State.generating),
        (#"{"success":true,"data":{"id":"i","status":"completed"}}"#, .completed),
        (#"{"success":false,"data":{"id":"i","status":"failed"}}"#, .failed),
        (#"{"success":false,"data":{"id":"i","generated_at":""}}"#, .failed),
    ])
    func `an insight has its state`(body: String, state: Insight.State) async throws {
        let bench = ClientBench(.status(200, body))

        let insight = try await bench.client.insight("i/1")

        #expect(insight.state == state)
        #expect(insight.id == "i")
        #expect(insight.generatedAt == nil)
        #expect(bench.transport.calls == ["GET /insights/i%2F1"])
    }

    @Test func `an id that a dialect compares by case goes in lower case`() async throws {
        let page = FakeTransport.Answer.status(
            200, #"{"success":true,"data":{"insights":[],"has_more":false,"total_count":"?"}}"#)
        let bench = ClientBench(page, dialect: .loop)

        _ = try await bench.client.insightsPage(user: "0A1B", limit: 2, offset: 4)

        #expect(bench.transport.calls == ["GET /insights/history/0a1b?limit=2&offset=4"])
    }

    @Test(
        arguments: [
            (#"{"status":"healthy","version":"0.1.0-dev"}"#, true, nil, "0.1.0-dev"),
            (
                #"{"success":true,"data":{"service":"insights","status":"ill","model":{}}}"#, false,
                "insights", nil
            ),
            (#"{"status":"healthy","service":"<b>","version":""}"#, true, nil, nil),
        ] as [(String, Bool, String?, String?)])
    func `a service says how it is`(
        body: String, isHealthy: Bool, service: String?, version: String?
    ) async throws {
        let bench = ClientBench(.status(200, body), session: nil)

        let health = try await bench.client.serviceHealth()

        #expect(
            health == ServiceHealth(isHealthy: isHealthy, service: service, version: version))
        #expect(bench.transport.bearers == [nil])
    }

    // MARK: Analyses

    private let steps = StepRecording(start: morning, counts: [4, 0], metadata: ["age": "40"])

    @Test func `steps go out with a timestamp a minute`() async throws {
        let bench = ClientBench(
            .status(
                200,
                #"{"analysis_id":"a","status":"completed","analysis":{"x":[]},"cached":true}"#),
            dialect: .loop)

        let analysis = try await bench.client.analyse(steps)

        #expect(analysis.id == "a" && analysis.state == .completed && analysis.isCached)
        #expect(bench.transport.calls == ["POST /pat/step-analysis"])
        #expect(
            bench.transport.bodies == [
                #"{"step_counts":[4,0],"timestamps":["2026-11-20T06:00:00Z","#
                    + #""2026-11-20T06:01:00Z"],"user_metadata":{"age":"40"}}"#
            ])
    }

    @Test func `minutes need not follow on one another`() throws {
        let recording = StepRecording([
            .init(start: morning, steps: 3), .init(start: morning + .seconds(3600), steps: 1000),
        ])

        let body = try recording.body(Dialect.blueprint.analysisLimits)

        #expect(
            String(decoding: body, as: UTF8.self)
                == #"{"step_counts":[3,1000],"timestamps":["2026-11-20T06:00:00Z","#
                + #""2026-11-20T07:00:00Z"]}"#)
    }

    @Test(arguments: [-1, 1001])
    func `a count that no minute has is not sent`(count: Int) async {
        let bench = ClientBench(.status(200))
        let recording = StepRecording(start: morning, counts: [1, count])

        let met = await failure { () throws(APIError) in try await bench.client.analyse(recording) }

        #expect(met == .refused("a count of the recording is none of a minute's steps"))
        #expect(bench.transport.requests.isEmpty)
    }

    @Test func `movements go out with their rate and hours`() async throws {
        let bench = ClientBench(.status(200, #"{"analysis_id":"a","status":"received"}"#))
        let recording = ActigraphyRecording(
            points: [.init(time: morning + .milliseconds(250), value: 1.5)], hours: 12)

        let analysis = try await bench.client.analyse(recording)

        #expect(analysis.state == .received)
        #expect(!analysis.isCached)
        #expect(bench.transport.calls == ["POST /pat/analyze"])
        #expect(
            bench.transport.bodies == [
                #"{"data_points":[{"timestamp":"2026-11-20T06:00:00.250Z","value":1.5}],"#
                    + #""sampling_rate":1.0,"duration_hours":12}"#
            ])
    }

    @Test(arguments: [
        (Dialect.blueprint, 10_081, "a step analysis takes 1 to 10080 minutes, got 10081"),
        (.loop, 20_161, "a step analysis takes 1 to 20160 minutes, got 20161"),
        (.loop, 0, "a step analysis takes 1 to 20160 minutes, got 0"),
    ])
    func `a recording beyond the limits is not sent`(
        dialect: Dialect, count: Int, why: String
    ) async {
        let bench = ClientBench(.status(200), dialect: dialect)
        let recording = StepRecording(start: morning, counts: Array(repeating: 1, count: count))

        let met = await failure { () throws(APIError) in try await bench.client.analyse(recording) }

        #expect(met == .refused(why))
        #expect(bench.transport.requests.isEmpty)
    }

    @Test(arguments: [
        (#"{"processing_id":"none","status":"not_found","metadata":{}}"#, Analysis.State.notFound),
        (#"{"processing_id":"a","status":"completed","pat_features":{"m10":1}}"#, .completed),
        (#"{"processing_id":"a","status":"pondering"}"#, .other),
    ])
    func `each status of an analysis becomes its state`(body: String, state: Analysis.State)
        async throws
    {
        let bench = ClientBench(.status(200, body), dialect: .loop)

        let analysis = try await bench.client.analysis("a")

        #expect(analysis.state == state)
        #expect(analysis.json == Array(body.utf8))
        #expect(bench.transport.calls == ["GET /pat/analysis/a"])
    }

    // MARK: Uploads

    private static let queued = """
        {"upload_id":"u-1","status":"queued","queued_at":"2026-11-20T06:00:00+00:00",\
        "samples_received":{"quantity_samples":1,"category_samples":0,"workouts":0,\
        "correlation_samples":1},"message":"m"}
        """

    @Test func `samples are taken whole`() async throws {
        let bench = ClientBench(.status(202, APIClientWorksTests.queued), dialect: .loop)
        let batch = testBatch(
            [
                testSample(.steps),
                testSample(.bloodPressure, .pressure(systolic: 120, diastolic: 80)),
            ], route: .samples)

        let receipt = try await bench.client.upload(batch)

        // This answer is the proof that the deployed backend has them.
        #expect(receipt == UploadReceipt(processingID: "u-1", accepted: 2, isStored: true))
        #expect(bench.transport.calls == ["POST /healthkit"])
    }

    @Test func `an answer about another number of samples is not believed`() async {
        let bench = ClientBench(.status(202, APIClientWorksTests.queued), dialect: .loop)

        let met = await failure { () throws(APIError) in
            try await bench.client.upload(testBatch([testSample(.steps)], route: .samples))
        }

        #expect(met == .decoding("upload: `samples_received` is not what was sent"))
        #expect(met?.mayHaveArrived == true)
    }

    @Test(arguments: [
        (FakeTransport.Answer.status(500), 1), (.failure(.reset), 1), (.failure(.timeout), 1),
        (.failure(.couldNotConnect), 4),
    ])
    func `an upload that would be kept twice is sent again only when it did not arrive`(
        answer: FakeTransport.Answer, tries: Int
    ) async {
        for route in UploadRoute.allCases {
            let bench = ClientBench(answer, dialect: .loop)

            _ = await failure { () throws(APIError) in
                try await bench.client.upload(testBatch([testSample(.steps)], route: route))
            }

            #expect(bench.transport.requests.count == tries)
        }
    }

    @Test(
        arguments: [
            (Dialect.loop, UploadRoute.samples, "GET /healthkit/status/u", nil),
            (.loop, .metrics, "GET /health-data/processing/u", nil),
            (.blueprint, .samples, "GET /healthkit_upload/status/u", 0.75),
            (.blueprint, .metrics, "GET /health-data/processing/u", 0.0075),
        ] as [(Dialect, UploadRoute, String, Double?)])
    func `a share is believed where it is about the upload`(
        dialect: Dialect, route: UploadRoute, call: String, progress: Double?
    ) async throws {
        let bench = ClientBench(
            .status(200, #"{"status":"processing","progress":0.75,"updated_at":""}"#),
            dialect: dialect)

        let status = try await bench.client.processing("u", route: route)

        #expect(status == ProcessingStatus(state: .processing, progress: progress))
        #expect(bench.transport.calls == [call])
    }

    @Test func `what is queued was received`() async throws {
        let bench = ClientBench(.status(200, #"{"status":"queued"}"#))

        let status = try await bench.client.processing("u", route: .samples)

        #expect(status == ProcessingStatus(state: .received, progress: nil))
    }

    @Test func `rows that the backend counts are paged by their number`() async throws {
        let row = """
            {"pk":"p","id":"r1","timestamp":"2026-11-20T06:00:00+00:00",\
            "metrics":{"activity_level":{"activity_data":{"steps":8000.0}}},"ttl":1.0}
            """
        let mixed = #"{"id":"r2","created_at":"2026-11-20T06:00:00Z","metrics":{"a":{},"b":{}}}"#
        let pagination = """
            {"total_count":null,"page_size":2,"has_next":true,"next_cursor":null}
            """
        let bench = ClientBench(
            .status(200, #"{"data":[\#(row),\#(mixed)],"pagination":\#(pagination)}"#),
            .status(200, #"{"data":[],"pagination":\#(pagination)}"#), dialect: .loop)

        let first = try await bench.client.healthDataPage(limit: 2)
        let second = try await bench.client.healthDataPage(limit: 2, cursor: first.nextCursor)

        #expect(first.rows.map(\.type) == ["activity_level", "upload"])
        #expect(first.nextCursor == "2")
        #expect(second == HealthDataPage(rows: [], unreadableRows: 0, nextCursor: nil))
        #expect(
            bench.transport.calls == [
                "GET /health-data?limit=2&offset=0", "GET /health-data?limit=2&offset=2",
            ])
    }

    @Test func `health data is removed by the id of its upload`() async throws {
        let bench = ClientBench(.status(200, #"{"message":"m"}"#), dialect: .loop)

        try await bench.client.deleteHealthData("p-1")

        #expect(bench.transport.calls == ["DELETE /health-data/p-1"])
    }
}
