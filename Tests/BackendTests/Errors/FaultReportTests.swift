import Testing

@testable import Backend
@testable import BackendContract

struct FaultReportTests {
    static let rows: [(String, [Int])] = [
        (#"{"detail":[{"loc":["body","metrics",7,"biometric_data","heart_rate"]}]}"#, [7]),
        (#"{"detail":[{"loc":["body","metrics","7"]},{"loc":["body","metrics",2]}]}"#, [2, 7]),
        (#"{"errors":[{"field":"metrics[3].metric_id"},{"field":"metrics.5"}]}"#, [3, 5]),
        (#"{"validation_errors":[{"field":"body.metrics[1].x"},{"field":"metrics[1]"}]}"#, [1]),
        (#"{"detail":[{"loc":["body","user_id"]},{"loc":["body","metrics"]}]}"#, []),
        (#"{"detail":[{"loc":["query","metrics",7]},{"loc":["body","metrics",-1]}]}"#, []),
        (#"{"detail":"metrics[4] is wrong"}"#, []),
        (#"{"detail":[1,{"loc":["body","metrics",7]}]}"#, []),
        (#"[{"field":"metrics[3]"}]"#, []), ("", []), ("Internal Server Error", []),
    ]

    @Test(arguments: rows)
    func `the metrics that a refusal names are found`(body: String, indices: [Int]) {
        #expect(FaultReport(Array(body.utf8)).indices == indices)
    }

    @Test func `a fault keeps the names of field and code`() {
        let body = """
            {"errors":[{"field":"metrics[3].biometric_data.heart_rate","code":"out_of_range",\
            "message":"heart rate 251 is too high","value":251}]}
            """

        let faults = FaultReport(Array(body.utf8)).faults

        #expect(
            faults == [
                .init(
                    index: 3, field: "biometric_data.heart_rate", code: "out_of_range",
                    words: "heart rate # is too high")
            ])
    }

    @Test func `what is no name is not kept`() {
        let body = #"{"errors":[{"field":"metrics[3].251 bpm","code":"was 251"}]}"#

        let faults = FaultReport(Array(body.utf8)).faults

        #expect(faults == [.init(index: 3, field: "unnamed", code: "unnamed")])
    }
}
