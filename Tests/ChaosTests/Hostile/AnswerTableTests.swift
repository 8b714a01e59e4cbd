import HealthModel
import ClarityScheduler
import Platform
import ClarityTestSupport
import Testing

@testable import Backend
@testable import BackendContract
@testable import ClarityJobs

@Suite("A backend that answers anything", .timeLimit(.minutes(20)))
struct AnswerTableTests {
    /// Replaces each value of each right answer with each of the other values. The client must
    /// return a value or a typed error, whose text cannot steer a terminal.
    @Test(arguments: StandInBackend.dialects)
    func `every field of every answer can be anything`(dialect: String) async throws {
        let bench = try await TableBench(dialect)
        let plan = ChaosPlan.current
        var generator = plan.generator("table-\(dialect)")

        var table: [(call: APICall, tampering: Tampering)] = []
        for (call, body) in bench.transport.rightAnswers.sorted(by: { $0.key.name < $1.key.name })
        where bench.has(call) {
            table += Tampering.all(of: body).map { (call, $0) }
        }
        try #require(table.count > 1000, "\(table.count) of \(dialect)")
        table.shuffle(using: &generator)
        var line = ChaosLine("hostile-server-\(dialect)", measures: [])
        var steering: [String] = []
        for (call, tampering) in table.prefix(plan.size(slice: 150, whole: table.count)) {
            bench.transport.tamper(call) { body in
                HTTPResponse(status: 200, body: tampering.applied(to: body))
            }
            let words = await bench.outcome(of: call)
            line.rounds += 1
            line.faults[words == nil ? "taken" : "refused", default: 0] += 1
            if let words {
                do { try demandHarmless(words, "\(call) \(tampering)") } catch {
                    steering.append("\(error)")
                }
            }
        }
        line.tell()

        #expect(steering == [])
        #expect(line.faults["refused", default: 0] > 0)
        #expect(line.faults["taken", default: 0] > 0)
    }

    @Test(arguments: StandInBackend.dialects)
    func `every answer is refused that is far too deep`(dialect: String) async throws {
        let bench = try await TableBench(dialect)
        let deep = Array(String(repeating: "[", count: 100_000).utf8)

        for call in bench.calls.keys.sorted(by: { $0.name < $1.name }) {
            bench.transport.tamper(call) { _ in HTTPResponse(status: 200, body: deep) }
            #expect(await bench.outcome(of: call) != nil, "\(call)")
        }
    }
}

/// A client that is logged in to a backend in this process, with each call that it can make.
private final class TableBench: Sendable {
    /// A call with arguments that fit the backend's data.
    typealias Call = @Sendable (APIClient) async throws(APIError) -> Void

    let transport: TamperedTransport
    let calls: [APICall: Call]
    private let client: APIClient

    func has(_ call: APICall) -> Bool { calls[call] != nil }

    init(_ dialect: String) async throws {
        transport = try TamperedTransport(dialect)
        let sessions = KeptSession()
        client = APIClient(
            base: "http://127.0.0.1:9/api/v1", dialect: dialect == "loop" ? .loop : .blueprint,
            transport: transport, sessions: sessions, clock: ManualClock(.now), retryWait: .zero)
        let session = try await client.login(
            email: "demo@example.com", password: Secret("Demo-Passw0rd!"))
        let batch = UploadBatch(
            id: "b", userID: session.userID, clientTimestamp: .now - .seconds(60),
            metrics: [
                UploadMetric(
                    id: "6c84fb90-12c4-41e1-840d-7b25c5ee775a",
                    sample: Sample(
                        kind: .heartRate, start: .now - .seconds(3600),
                        end: .now - .seconds(3540), value: .single(61)))
            ])
        let receipt = try await client.upload(batch)
        let id = receipt.processingID ?? ""
        let start = Instant.now - .seconds(90_000)
        let steps = StepRecording(
            (0..<1440).map { MovementWeek.Minute(start: start + .seconds(60 * $0), steps: 3) })
        let analysis = try await client.analyse(steps)
        let request = InsightRequest(results: ["sleep_efficiency": 0.9])
        let page = try await client.insightsPage(user: session.userID, limit: 5, offset: 0)
        let insight = page.rows.first?.id ?? ""
        var calls: [APICall: Call] = [
            .login: { client throws(APIError) in
                _ = try await client.login(
                    email: "demo@example.com", password: Secret("Demo-Passw0rd!"))
            },
            .me: { client throws(APIError) in _ = try await client.me() },
            .metricsStatus: { client throws(APIError) in _ = try await client.processing(id) },
            .uploadMetrics: { client throws(APIError) in _ = try await client.upload(batch) },
            .healthData: { client throws(APIError) in
                _ = try await client.healthDataPage(limit: 5)
            },
            .analyseSteps: { client throws(APIError) in _ = try await client.analyse(steps) },
            .analysis: { client throws(APIError) in _ = try await client.analysis(analysis.id) },
            .insightHistory: { client throws(APIError) in
                _ = try await client.insightsPage(user: session.userID, limit: 5, offset: 0)
            },
            .generateInsight: { client throws(APIError) in
                _ = try await client.generateInsight(request)
            },
            .insight: { client throws(APIError) in _ = try await client.insight(insight) },
            .serviceHealth: { client throws(APIError) in _ = try await client.serviceHealth() },
        ]
        // Removes the calls that the dialect does not offer: they have no answer to tamper with.
        for (call, body) in calls {
            do throws(APIError) { try await body(client) } catch .notOffered {
                calls[call] = nil
            } catch {}
        }
        self.calls = calls
    }

    /// Returns the error of a call in words, or `nil` if the call succeeds.
    func outcome(of call: APICall) async -> String? {
        do throws(APIError) {
            try await calls[call]?(client)
            return nil
        } catch {
            return "\(error.outcome)"
        }
    }
}

extension Instant {
    /// The time of the backend's clock, in whole seconds.
    fileprivate static var now: Instant {
        Instant(secondsSince1970: SystemClock().now.secondsSince1970)
    }
}
