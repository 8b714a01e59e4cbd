import HealthStore
import ClarityScheduler
import Testing

@testable import Backend
@testable import BackendContract
@testable import ClarityJobs

/// An upload ends when the backend refuses everything that it sends.
@Suite struct RefusingBackendTests {
    @Test func `a backend that refuses everything is left alone and nothing is rejected`()
        async throws
    {
        let bench = WorkBench { _ in .status(422) }
        try bench.logIn()
        try bench.enqueue(0..<300)

        let (outcome, _) = await bench.attempt("bulk-upload")

        #expect(
            outcome
                == .failure(
                    Failure(
                        .work,
                        "the backend does not accept what was sent, in 16 requests in a row")))
        #expect(bench.backend.requests.count == 16)
        #expect(try bench.states() == [.queued: 300])
    }

    @Test func `a backend that takes nothing without a word is left alone`() async throws {
        let bench = WorkBench { _ in .status(201, #"{"processing_id":"p","accepted_metrics":0}"#) }
        try bench.logIn()
        try bench.enqueue(0..<300)

        let (outcome, _) = await bench.attempt("bulk-upload")

        #expect(
            outcome
                == .failure(
                    Failure(
                        .work,
                        "the backend does not take it and does not say why, in 16 requests in a "
                            + "row")))
        #expect(bench.backend.requests.count == 16)
        #expect(try bench.states() == [.queued: 300])
    }

    @Test func `a backend that finds fault with each sample in turn is left alone`() async throws {
        let bench = WorkBench { _ in
            .status(422, #"{"errors":[{"field":"metrics[0].heart_rate","code":"missing"}]}"#)
        }
        try bench.logIn()
        try bench.enqueue(0..<300)

        let (outcome, reports) = await bench.attempt("bulk-upload")

        #expect(
            outcome
                == .failure(
                    Failure(
                        .work,
                        "the backend does not accept 1 of the metrics, in 16 requests in a row")))
        #expect(bench.backend.requests.count == 16)
        #expect(reports.tally["samples_rejected"] == 15)
        #expect(try bench.states() == [.rejected: 15, .queued: 285])
    }

    @Test func `a backend that rejects every sample by name is left alone`() async throws {
        let bench = WorkBench { request in
            let errors = request.metricIDs.indices.map {
                #"{"field":"metrics[\#($0)].heart_rate","message":"m","code":"missing"}"#
            }
            return .status(
                201,
                #"{"processing_id":"p","accepted_metrics":0,"validation_errors":"#
                    + "[\(errors.joined(separator: ","))]}")
        }
        try bench.logIn()
        try bench.enqueue(0..<100)

        let (outcome, _) = await bench.attempt("bulk-upload", ["batch_size": "5"])

        #expect(
            outcome
                == .failure(
                    Failure(.work, "the backend takes nothing, in 16 requests in a row")))
        #expect(try bench.states() == [.rejected: 80, .queued: 20])
    }
}
