import HealthModel
import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import Backend
@testable import BackendContract

struct APIClientAnswersTests {
    private func upload(
        _ count: Int, _ status: Int, _ body: String
    ) async throws(APIError) -> UploadReceipt {
        let bench = ClientBench(.status(status, body))
        let samples = Array(repeating: testSample(.steps), count: count)
        return try await bench.client.upload(testBatch(samples))
    }

    @Test func `an upload that is taken whole has a plain receipt`() async throws {
        let receipt = try await upload(3, 201, receiptBody(accepted: 3))

        #expect(receipt == UploadReceipt(processingID: "p-1", accepted: 3))
    }

    @Test func `duplicates and rejections are told apart`() async throws {
        let errors = """
            {"field":"metrics[3].metric_id","message":"already stored","code":"duplicate_metric"},\
            {"field":"metrics[1].activity_data.steps","message":"-4","code":"out_of_range"},\
            {"field":"metrics[1].created_at","message":"m","code":"in_the_future"},\
            {"field":"metrics[0].metric_id","message":"m","code":"DUPLICATE"}
            """

        let receipt = try await upload(
            5, 201, receiptBody(accepted: 2, rejected: 3, errors: errors))

        #expect(
            receipt
                == UploadReceipt(
                    processingID: "p-1", accepted: 2, duplicates: [0, 3],
                    rejected: [.init(index: 1, reason: "`activity_data.steps`: out_of_range")]))
    }

    @Test func `metrics that the answer leaves open are counted`() async throws {
        let errors = """
            {"field":"metrics[9].metric_id","message":"m","code":"duplicate"},\
            {"field":"user_id","message":"m","code":"odd"}
            """

        let receipt = try await upload(
            4, 201, receiptBody(accepted: 2, rejected: 2, errors: errors))

        #expect(receipt == UploadReceipt(processingID: "p-1", accepted: 2, unexplained: 2))
    }

    @Test(arguments: [-1, 3])
    func `a count that cannot be is not believed`(accepted: Int) async {
        let met = await failure { () throws(APIError) in
            try await upload(2, 201, receiptBody(accepted: accepted))
        }

        #expect(met == .decoding("upload: `accepted_metrics` is beyond what was sent"))
    }

    @Test(arguments: [
        (#"{"detail":[{"loc":["body","metrics",7,"x"],"input":251}]}"#, [7]),
        (#"{"detail":"nothing named"}"#, []),
    ])
    func `a refused upload names its metrics`(body: String, indices: [Int]) async {
        for status in [422, 400] {
            let met = await failure { () throws(APIError) in try await upload(9, status, body) }
            let isUnnamed = status == 400 && indices.isEmpty
            #expect(met == (isUnnamed ? .rejected(status: 400) : .validation(indices: indices)))
        }
    }

    @Test func `a conflict over one metric is a duplicate`() async throws {
        let receipt = try await upload(1, 409, #"{"detail":"exists"}"#)

        #expect(receipt == UploadReceipt(processingID: nil, accepted: 0, duplicates: [0]))
    }

    @Test func `a conflict that names metrics leaves the others open`() async throws {
        let receipt = try await upload(3, 409, #"{"errors":[{"field":"metrics[2].metric_id"}]}"#)

        #expect(
            receipt
                == UploadReceipt(processingID: nil, accepted: 0, duplicates: [2], unexplained: 2))
    }

    @Test func `a conflict over several that names none is a refusal to divide`() async {
        let met = await failure { () throws(APIError) in try await upload(3, 409, "{}") }

        #expect(met == .validation(indices: []))
    }

    static let processingRows: [(String, ProcessingStatus.State, Double?)] = [
        (#"{"status":"received","progress":0}"#, .received, 0),
        (#"{"status":"processing","progress":62.5}"#, .processing, 0.625),
        (#"{"status":"completed","progress":100,"message":"m"}"#, .completed, 1),
        (#"{"status":"failed","progress":null}"#, .failed, nil),
        (#"{"status":"requires_review","progress":900}"#, .other, 1),
    ]

    @Test(arguments: processingRows)
    func `a processing status has a state and a share`(
        body: String, state: ProcessingStatus.State, progress: Double?
    ) async throws {
        let bench = ClientBench(.status(200, body))

        let status = try await bench.client.processing("p/1")

        #expect(status == ProcessingStatus(state: state, progress: progress))
        #expect(bench.transport.calls == ["GET /health-data/processing/p%2F1"])
    }

    @Test func `a page of health data keeps its rows as they came`() async throws {
        let row =
            #"{ "id":"r1","type":"steps","value":8000.0,"timestamp":"2026-11-20T06:00:00.25Z"}"#
        let metric = """
            {"metric_id":"m1","metric_type":"heart_rate","created_at":"2026-11-20T07:00:00+01:00",\
            "biometric_data":{"heart_rate":61}}
            """
        let bench = ClientBench(
            .status(
                200,
                #"{"data":[\#(row), \#(metric),{"id":"r3"},{"id":1}],"#
                    + #""pagination":{"page_size":50,"has_next":true,"next_cursor":"c2"}}"#))

        let page = try await bench.client.healthDataPage(limit: 50, cursor: "c1")

        #expect(
            page.rows == [
                HealthDataRow(
                    id: "r1", type: "steps", timestamp: morning + .milliseconds(250),
                    json: Array(row.utf8)),
                HealthDataRow(
                    id: "m1", type: "heart_rate", timestamp: morning, json: Array(metric.utf8)),
            ])
        #expect(page.unreadableRows == 2)
        #expect(page.nextCursor == "c2")
        #expect(bench.transport.calls == ["GET /health-data?limit=50&cursor=c1"])
        #expect("\(page)".contains("8000") == false)
    }

    /// Both forms of dates, with and without fractions, and texts that are no dates.
    @Test(
        arguments: [
            ("2026-11-20T06:00:00.501311Z", 501), ("2026-11-20T06:00:00Z", 0),
            ("2026-11-20T06:00:00.487313+00:00", 487), ("2026-11-20T06:00:00+00:00", 0), ("", nil),
            ("2026-11-20T06:00:00", nil), ("1795154400", nil),
        ] as [(String, Int?)])
    func `a row is dated in every form that a backend has`(
        date: String, milliseconds: Int?
    ) async throws {
        for dialect in Dialect.all {
            let row = #"{"id":"r","type":"steps","timestamp":"\#(date)"}"#
            let bench = ClientBench(
                .status(200, #"{"data":[\#(row)],"pagination":{"has_next":false}}"#),
                dialect: dialect)

            let page = try await bench.client.healthDataPage(limit: 50)

            #expect(
                page.rows.map(\.timestamp)
                    == (milliseconds.map { [morning + .milliseconds($0)] } ?? []))
            #expect(page.unreadableRows == (milliseconds == nil ? 1 : 0))
        }
    }

    @Test(arguments: [
        #"{"has_next":false,"next_cursor":"c2"}"#, #"{"has_next":true,"next_cursor":null}"#,
        #"{"has_next":false}"#,
    ])
    func `the last page has no successor`(pagination: String) async throws {
        let bench = ClientBench(.status(200, #"{"data":[],"pagination":\#(pagination)}"#))

        let page = try await bench.client.healthDataPage(limit: 50)

        #expect(page == HealthDataPage(rows: [], unreadableRows: 0, nextCursor: nil))
    }

    private static let longCursor = String(repeating: "c", count: 1025)

    @Test(arguments: [
        (
            LongText(#"{"data":[],"pagination":{"has_next":true,"next_cursor":"c1"}}"#),
            "health data: `pagination.next_cursor` does not move on"
        ),
        (#"{"data":{},"pagination":{"has_next":false}}"#, "health data: `data` is not a list"),
        (#"{"data":[]}"#, "health data: `pagination` is missing"),
        (
            #"{"data":[],"pagination":{"has_next":"9182"}}"#,
            "health data: `pagination.has_next` has another type"
        ),
        (
            LongText(
                #"{"data":[],"pagination":{"has_next":true,"next_cursor":"\#(longCursor)"}}"#),
            "health data: `pagination.next_cursor` is longer than 1024 bytes"
        ),
        (#"{"data":[]"#, "health data: it is no valid JSON"),
    ])
    func `a page of another shape is refused by its faulty part`(body: LongText, part: String) async
    {
        let bench = ClientBench(.status(200, body.text))

        let met = await failure { () throws(APIError) in
            try await bench.client.healthDataPage(limit: 50, cursor: "c1")
        }

        #expect(met == .decoding(part))
    }

    @Test func `a page of insights keeps its rows as they came`() async throws {
        let row = #"{"id":"i1","narrative":"slept well","generated_at":"2026-11-20T06:00:00Z"}"#
        let bench = ClientBench(
            .status(
                200,
                #"{"success":true,"data":{"insights":[\#(row),{"id":"i2","generated_at":""}],"#
                    + #""total_count":2,"has_more":true,"pagination":{"page":1,"limit":2}}}"#))

        let page = try await bench.client.insightsPage(user: "user-1", limit: 2, offset: 4)

        #expect(
            page
                == InsightsPage(
                    rows: [InsightRow(id: "i1", generatedAt: morning, json: Array(row.utf8))],
                    unreadableRows: 1, hasMore: true))
        #expect(bench.transport.calls == ["GET /insights/history/user-1?limit=2&offset=4"])
        #expect("\(page)".contains("slept") == false)
    }

    @Test func `an insight that is still being made is counted and not kept`() async throws {
        let bench = ClientBench(
            .status(
                200,
                #"{"success":true,"data":{"insights":[{"id":"i1","status":"generating","#
                    + #""generated_at":null},{"id":"i2","status":"completed","#
                    + #""generated_at":"2026-11-20T06:00:00Z"}],"has_more":false}}"#))

        let page = try await bench.client.insightsPage(user: "user-1", limit: 2, offset: 0)

        #expect(page.rows.map(\.id) == ["i2"])
        #expect(page.unfinishedRows == 1)
        #expect(page.unreadableRows == 0)
    }

    @Test func `insights without success are an answer of another shape`() async {
        let bench = ClientBench(
            .status(200, #"{"success":false,"data":{"insights":[],"has_more":false}}"#))

        let met = await failure { () throws(APIError) in
            try await bench.client.insightsPage(user: "u", limit: 1, offset: 0)
        }

        #expect(met == .decoding("insights: `success` is false"))
    }
}
