import ClarityTestSupport
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
        let end = ContinuousClock.now + .seconds(30)
        var open = 0
        var hung = 0
        repeat {
            hung = try await answers("hang")
            open = try ProcessTable.openConnections(to: Int(port), of: processID)
        } while open > hung && ContinuousClock.now < end
        try #require(open <= hung, "connections to the sandbox stay open")
    }

    /// Ends the access tokens, and those that renew them.
    func expireAllTokens() async throws {
        _ = try await LoopbackRequest.send(
            "POST", "/_sandbox/expire-tokens", body: "all", port: port)
    }
}
