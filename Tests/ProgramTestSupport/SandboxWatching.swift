import ClarityTestSupport
import Glibc
import Testing

extension Sandbox {
    /// How many requests ended in `outcome`: a status, `reset` or `hang`. A request counts before
    /// its answer leaves.
    func answers(_ outcome: String) async throws -> Int {
        let text = try await LoopbackRequest.send(
            "GET", "/_sandbox/summary", port: port, in: network)
        guard let value = text.firstRange(of: "\"\(outcome)\":") else { return 0 }
        return try #require(Int(text[value.upperBound...].prefix { $0.isNumber }))
    }

    /// Returns once at least `wanted` of what `count` tells of have been.
    ///
    /// Asks without a pause: each question is a request of its own and yields the processor.
    func wait(
        for wanted: Int, _ count: (Sandbox) async throws -> Int
    ) async throws {
        while try await count(self) < wanted { try Task.checkCancellation() }
    }

    /// Returns once everything has arrived that was sent to it, and been answered or left without an
    /// answer for good: such a request keeps its connection.
    func waitUntilQuiet() async throws {
        let (port, process) = try (Int(port), processID)
        let end = ContinuousClock.now + .seconds(60)
        var isQuiet = false
        while !isQuiet, ContinuousClock.now < end {
            let hung = try await answers("hang")
            // The question was a connection too: it needs time to end.
            isQuiet = try await blocking {
                let patience = ContinuousClock.now + .seconds(5)
                while ContinuousClock.now < patience {
                    if ProcessTable.openConnections(to: port, of: process) <= hung { return true }
                    sched_yield()
                }
                return false
            }
        }
        try #require(isQuiet, "connections to the sandbox stay open")
    }

    /// Ends the access tokens, and those that renew them.
    func expireAllTokens() async throws {
        _ = try await LoopbackRequest.send(
            "POST", "/_sandbox/expire-tokens", body: "all", port: port)
    }
}
