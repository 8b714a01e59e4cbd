import ClarityTestSupport
@testable import ProgramTestSupport
import FoundationEssentials
import Glibc
import Testing

/// Several processes share one state directory; the sandbox's own record says when their requests
/// came.
@Suite("the limits of a backend", .timeLimit(.minutes(5)))
struct BackendLimitProgramTests {
    private struct Arrivals: Decodable {
        struct Arrival: Decodable {
            var at: Int
            var delay: Int

            enum CodingKeys: String, CodingKey {
                case at = "at_ms"
                case delay = "delay_ms"
            }
        }

        var arrivals: [Arrival]
    }

    private func arrivals(_ playground: Playground) async throws -> [Arrivals.Arrival] {
        let sandbox = try #require(playground.sandbox)
        let text = try await LoopbackRequest.send("GET", "/_sandbox/arrivals", port: sandbox.port)
        return try JSONDecoder().decode(Arrivals.self, from: Data(text.utf8)).arrivals
            .sorted { $0.at < $1.at }
    }

    /// Makes a logged-in playground whose backend has limits.
    private func playground(_ limits: String) async throws -> Playground {
        let playground = try await Playground()
        try await playground.logIn()
        try playground.write { url, folder in
            Playground.standardJobFile(url: url, folder: folder)
                .replacing("  retry_wait: 1ms", with: "  retry_wait: 1ms\n  \(limits)")
        }
        return playground
    }

    /// Runs two jobs, a login and three checks of the backend, all at once.
    private func crowd(_ playground: Playground) async throws {
        let commands = [
            ["run", "refresh"], ["run", "insights"], ["doctor", "--backend"],
            ["doctor", "--backend"], ["doctor", "--backend"],
        ]
        try await withThrowingTaskGroup(of: ProgramResult.self) { group in
            for command in commands {
                group.addTask { try await playground.start(command).finish() }
            }
            group.addTask {
                try await playground.run(
                    "auth", "login", "--email", "demo@example.com", "--password-stdin",
                    input: "Demo-Passw0rd!\n")
            }
            for try await result in group { #expect(result.status == 0, "\(result.errors)") }
        }
    }

    @Test func `all processes together keep the rate`() async throws {
        let playground = try await playground("max_requests_per_second: 10")
        let before = try await arrivals(playground).count

        try await crowd(playground)

        let times = try await arrivals(playground).dropFirst(before).map(\.at)
        try #require(times.count >= 20)
        // They leave this machine 100 ms apart; a busy machine may delay some on the way.
        for time in times {
            #expect(times.count { (time..<time + 1000).contains($0) } <= 13, "\(times)")
        }
    }

    @Test func `all processes together keep the number of connections`() async throws {
        let playground = try await playground("max_connections: 2")
        let sandbox = try #require(playground.sandbox)
        let before = try await arrivals(playground).count
        for path in ["/*", "/*/*", "/*/*/*", "/*/*/*/*"] {
            try await sandbox.addFault("* \(path): latency=60ms x*")
        }

        try await crowd(playground)

        let requests = try await arrivals(playground).dropFirst(before)
        try #require(requests.filter { $0.delay == 60 }.count >= 15)
        // A request is under way at least until its answer leaves.
        let most = requests.map { one in
            requests.count { $0.at <= one.at && one.at < $0.at + $0.delay }
        }
        #expect(most.max() == 2)
    }

    @Test(.enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
    func `processes of two machines with one database keep the rate and the connections`()
        async throws
    {
        let database = try await StateDatabase()
        let playground = try await Playground(on: database)
        try playground.write { url, folder in
            Playground.standardJobFile(url: url, folder: folder)
                .replacing(
                    "  retry_wait: 1ms", with: "  max_requests_per_second: 10\n  max_connections: 1"
                )
        }
        let sandbox = try #require(playground.sandbox)
        let before = try await arrivals(playground).count
        for path in ["/*", "/*/*", "/*/*/*", "/*/*/*/*"] {
            try await sandbox.addFault("* \(path): latency=60ms x*")
        }

        // Each has a state directory of its own, as two machines have.
        try await withThrowingTaskGroup(of: ProgramResult.self) { group in
            for number in 0..<6 {
                let directory = "\(playground.folder.path)/machine-\(number % 2)"
                try database.writeKey(into: directory)
                group.addTask {
                    try await playground.run(
                        "doctor", "--backend", environment: ["CLARITY_JOBS_STATE": directory])
                }
            }
            for try await result in group { #expect(result.status == 0, "\(result.errors)") }
        }

        let requests = Array(try await arrivals(playground).dropFirst(before))
        try #require(requests.count >= 12)
        for time in requests.map(\.at) {
            #expect(requests.count { (time..<time + 1000).contains($0.at) } <= 13)
        }
        let most = requests.map { one in
            requests.count { $0.at <= one.at && one.at < $0.at + $0.delay }
        }
        #expect(most.max() == 1)
    }

    @Test func `a killed process leaves its connection to the others`() async throws {
        let playground = try await playground("max_connections: 1")
        let sandbox = try #require(playground.sandbox)
        for path in ["/*", "/*/*", "/*/*/*"] { try await sandbox.addFault("GET \(path): hang x*") }
        let holder = try playground.start(["doctor", "--backend"])
        try await sandbox.wait(for: 1) { try await $0.answers("hang") }
        try await sandbox.clearFaults()
        let waiting = try playground.start(["doctor", "--backend"])

        holder.signal(SIGKILL)
        let result = await waiting.finish()

        #expect(result.status == 0, "\(result.output)\(result.errors)")
    }

    @Test func `a state directory without room for the limits is said`() async throws {
        let playground = try await playground("max_requests_per_second: 10")
        try playground.folder.write("state/backend", [])
        let before = try await arrivals(playground).count

        let result = try await playground.run("run", "refresh")

        #expect(result.status != 0)
        let text = result.output + result.errors
        #expect(
            text.contains(
                "cannot keep the backend's limits in `\(playground.statePath)/backend`: "
                    + "Not a directory"), "\(text)")
        #expect(try await arrivals(playground).count == before)
    }
}
