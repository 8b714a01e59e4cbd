import ClarityTestSupport
import Glibc
import Testing

extension Sandbox {
    /// Returns how many requests ended in `outcome`: a status, `reset` or `hang`. A request counts
    /// before its answer leaves.
    func answers(_ outcome: String) async throws -> Int {
        let text = try await LoopbackRequest.send(
            "GET", "/_sandbox/summary", port: port, in: network)
        guard let value = text.firstRange(of: "\"\(outcome)\":") else { return 0 }
        return try #require(Int(text[value.upperBound...].prefix { $0.isNumber }))
    }

    /// Returns once `count` is at least `wanted`, or `program` has ended.
    ///
    /// Polls without a pause: each poll is a request of its own and yields the processor.
    func wait(
        for wanted: Int, of program: ChildProgram? = nil,
        _ count: (Sandbox) async throws -> Int
    ) async throws {
        while try await count(self) < wanted {
            try Task.checkCancellation()
            if let program, !ProcessTable.isAlive(program.processID) { return }
        }
    }

    /// Returns once every request has arrived and has an answer, or will never have one: such a
    /// request keeps its connection. Fails after 60 seconds.
    func waitUntilQuiet() async throws {
        let (port, process) = try (Int(port), processID)
        let end = ContinuousClock.now + .seconds(60)
        var open: [String] = []
        repeat {
            let hung = try await answers("hang")
            // The question was a connection too: it needs time to end.
            open = try await blocking {
                let patience = ContinuousClock.now + .seconds(5)
                while true {
                    let open = ProcessTable.openConnections(to: port, of: process)
                    if open.count <= hung { return [] }
                    if ContinuousClock.now > patience { return open }
                    sched_yield()
                }
            }
        } while !open.isEmpty && ContinuousClock.now < end
        try #require(open.isEmpty, "connections to the sandbox stay open")
    }

    /// Expires the access tokens and the refresh tokens.
    func expireAllTokens() async throws {
        _ = try await LoopbackRequest.send(
            "POST", "/_sandbox/expire-tokens", body: "all", port: port)
    }
}
