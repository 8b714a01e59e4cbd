import Backend
import HealthStore
import Platform
import Testing

@testable import ClarityJobs

/// How the answer to a bundle is read, which has the form of hl7.org/fhir/R4/bundle.html#bundle-response.
@Suite("Answers of a FHIR server") struct FHIRAnswersTests {
    private let answers = FHIRAnswers(
        base: "https://fhir.example/r4", ofLogin: "it refuses the token", clock: SystemClock())

    private func read(_ body: String, count: Int = 1, status: Int = 200) throws -> [String] {
        let response = HTTPResponse(status: status, headers: [:], body: Array(body.utf8))
        return try answers.entries(in: response, count: count).map(Self.words)
    }

    private static func words(_ answer: FHIREntryAnswer) -> String {
        switch answer {
        case .stored(let isNew, SentResources.Version.digest("3")): "stored as 3, new: \(isNew)"
        case .stored(let isNew, let version): "stored as \(version), new: \(isNew)"
        case .refused(let code): "refused: \(code)"
        case .unclear: "unclear"
        case .missing: "missing"
        case .later(let refusal): "later: \(refusal.category)\(refusal.isOfToken ? ", token" : "")"
        }
    }

    @Test(arguments: [
        (
            #"{"response":{"status":"201 Created","location":"Observation/1","etag":"W/\"3\""}}"#,
            "stored as 3, new: true"
        ),
        (
            #"""
            {"fullUrl":"urn:x","resource":{"status":"422","response":{"status":"400"}},
             "response":{"etag":"3","outcome":{"issue":[{"code":"informational"}]},"status":"200"}}
            """#, "stored as 3, new: false"
        ),
        (#"{"response":{"status":"204"}}"#, "stored as 0, new: false"),
        (
            #"""
            {"response":{"status":"422 Unprocessable Entity","outcome":{"resourceType":
             "OperationOutcome","issue":[{"severity":"error","diagnostics":"70 bpm","code":
             "invariant"},{"code":"value"}]}}}
            """#, "refused: invariant"
        ),
        (#"{"response":{"status":"400","outcome":{"issue":[]}}}"#, "refused: status 400"),
        (
            #"{"response":{"status":"400","outcome":{"issue":[{"code":"not-found"}]}}}"#,
            "later: configuration"
        ),
        (#"{"response":{"status":"401"}}"#, "later: credential, token"),
        (#"{"response":{"status":"429 Slow"}}"#, "later: unreachable"),
        (#"{"response":{"status":"404"}}"#, "missing"),
        (#"{"response":{"status":"412 Precondition Failed"}}"#, "unclear"),
        (#"{"response":{"status":422}}"#, "unclear"),
        (#"{"response":{"status":"2é1"}}"#, "unclear"),
        (#"{"response":[{"status":"200"}]}"#, "unclear"), ("{}", "unclear"), ("7", "unclear"),
        ("[[]]", "unclear"),
    ])
    func `an entry is answered by the response alone`(entry: String, wanted: String) throws {
        let body = #"{"type":"batch-response","entry":[\#(entry)],"resourceType":"Bundle"}"#
        #expect(try read(body) == [wanted])
    }

    @Test(arguments: [
        (#"{"resourceType":"Bundle","entry":[{},{}]}"#, "did not answer each entry"),
        (#"{"resourceType":"Bundle","entry":{}}"#, "did not answer each entry"),
        (#"{"resourceType":"OperationOutcome","entry":[{}]}"#, "did not answer each entry"),
        (#"{"resourceType":"Bundle","entry":[{}]"#, "something else than JSON"),
        (#"{"resourceType":"Bundle","entry":[{}]} and more"#, "something else than JSON"),
        ("<html></html>", "something else than JSON"), ("", "something else than JSON"),
    ])
    func `what does not answer each entry may have arrived`(body: String, wanted: String) throws {
        let refusal = try #require(throws: FHIRRefusal.self) { try read(body) }
        #expect(refusal.reason.contains(wanted) && refusal.mayHaveArrived, "\(refusal.reason)")
    }
}
