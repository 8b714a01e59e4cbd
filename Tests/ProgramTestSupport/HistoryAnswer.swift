import ClarityTestSupport
import FoundationEssentials
import Testing

/// A run in the output of `history --output json`.
struct HistoryRun: Decodable {
    var run: Int
    var job: String
    var state: String
    var attempts: Int
    var summary: String
    var failure: String?
    var stopReason: String?
    var notes: [String]

    enum CodingKeys: String, CodingKey {
        case run, job, state, attempts, summary, failure, notes
        case stopReason = "stop_reason"
    }
}

/// The attempts of a run in the output of `history show RUN --output json`.
struct HistoryAttempts: Decodable {
    struct Attempt: Decodable {
        var attempt: Int
        var result: String
        var reason: String?
        var stopReason: String?

        enum CodingKeys: String, CodingKey {
            case attempt, result, reason
            case stopReason = "stop_reason"
        }
    }

    var attempts: [Attempt]

    enum CodingKeys: String, CodingKey {
        case attempts = "attempt_list"
    }
}

extension Playground {
    /// Returns the runs of a job, newest first.
    func history(_ job: String) async throws -> [HistoryRun] {
        let result = try await run("history", job, "--output", "json")
        try #require(result.status == 0, "\(result.errors)")
        return try JSONDecoder().decode([HistoryRun].self, from: Data(result.output.utf8))
    }

    /// Returns the attempts of a run, in order.
    func attempts(of run: Int) async throws -> [HistoryAttempts.Attempt] {
        let result = try await self.run("history", "show", String(run), "--output", "json")
        try #require(result.status == 0, "\(result.errors)")
        let answer = try JSONDecoder().decode(HistoryAttempts.self, from: Data(result.output.utf8))
        return answer.attempts
    }
}
