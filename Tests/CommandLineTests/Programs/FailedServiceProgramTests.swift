import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// `notify failed`, as systemd calls it for a service that failed.
@Suite("A failed service", .timeLimit(.minutes(5)))
struct FailedServiceProgramTests {
    private static let environment = [
        "MONITOR_UNIT": "clarity-jobs.service", "MONITOR_SERVICE_RESULT": "exit-code",
        "MONITOR_EXIT_STATUS": "70",
    ]
    private static let text =
        "the service `clarity-jobs.service` failed (status 70) and does not run; see its journal"

    private func playground(_ server: ScriptedServer) async throws -> Playground {
        try await Playground { url, folder in
            """
            version: 1
            backend: { url: \(url) }
            sources: []
            notify: [{ kind: ntfy, url: "\(server.url)/topic" }]
            jobs:
              - { id: look, kind: command, options: { command: [/bin/true] } }

            """
        }
    }

    private func marks(_ playground: Playground) throws -> [String] {
        try playground.folder.contents().keys.filter { $0.hasPrefix("state/failed-services/") }
            .map { String($0.dropFirst(22)) }
    }

    @Test func `a failed service is reported once, and when the loop runs again`() async throws {
        let server = try ScriptedServer([.answer(), .answer()])
        let playground = try await playground(server)

        let failed = try await playground.run("notify", "failed", environment: Self.environment)
        let again = try await playground.run("notify", "failed", environment: Self.environment)
        let recorded = try marks(playground)
        let loop = try playground.start(["loop"])
        _ = await loop.readErrorLine()
        loop.signal(SIGTERM)
        _ = await loop.finish()
        let last = try await playground.run("run", "notify")

        #expect(
            [failed, again, last].map(\.status) == [0, 0, 0], "\(failed.errors)\(again.errors)")
        #expect(recorded == ["clarity-jobs.service status 70"])
        #expect(server.requests.map(\.body) == [Self.text + "\n", "over: " + Self.text + "\n"])
        #expect(try marks(playground) == [])
    }

    @Test func `without a database, a failed service is reported at once and once`() async throws {
        let server = try ScriptedServer([.answer(), .answer()])
        let playground = try await playground(server)
        _ = try await playground.run("run", "look")
        try playground.folder.write("state/history.db", Array("no database".utf8))

        let failed = try await playground.run("notify", "failed", environment: Self.environment)
        let again = try await playground.run("notify", "failed", environment: Self.environment)
        let other = try await playground.run(
            "notify", "failed", "clarity-jobs-run.service", environment: Self.environment)

        #expect(failed.status == 0 && again.status == 0, "\(failed.errors)\(again.errors)")
        #expect(other.status == 0 && other.output == "", "\(other.errors)")
        #expect(failed.output == "ntfy: sent\n" && again.output == "")
        #expect(failed.errors.contains("`\(playground.statePath)/history.db`"), "\(failed.errors)")
        #expect(server.requests.map(\.body) == [Self.text + "\n"])
        #expect(
            Set(try marks(playground)) == [
                "clarity-jobs.service status 70 told", "clarity-jobs-run.service status 70",
            ])
    }

    @Test func `the name of a person does not leave the machine`() async throws {
        let server = try ScriptedServer([.answer()])
        let playground = try await playground(server)

        let failed = try await playground.run(
            "notify", "failed", "clarity-jobs@anna.service",
            environment: [
                "MONITOR_SERVICE_RESULT": "signal", "MONITOR_EXIT_STATUS": "SEGV",
            ])

        #expect(failed.status == 0, "\(failed.errors)")
        let bodies = server.requests.map(\.body)
        try #require(bodies.count == 1)
        #expect(bodies[0].hasPrefix("the service `clarity-jobs@.service` failed (signal SEGV)"))
    }

    @Test func `a run that failed for good is told as such`() async throws {
        let server = try ScriptedServer([])
        let playground = try await playground(server)

        let failed = try await playground.run(
            "notify", "failed",
            environment: Self.environment.merging(["MONITOR_EXIT_STATUS": "1"]) { $1 })

        #expect(failed.status == 0 && failed.errors == "")
        #expect(try marks(playground) == [])
    }

    @Test(arguments: [
        (["../clarity"], "`../clarity` is no service; write it as `clarity-jobs.service`"),
        ([], "`notify failed` wants a unit, or the variable MONITOR_UNIT of systemd"),
        (["a.service", "b.service"], "`notify failed` wants one unit at most, got 2"),
    ])
    func `anything but a unit is refused`(words: [String], message: String) async throws {
        let server = try ScriptedServer([])
        let playground = try await playground(server)

        let result = try await playground.start(["notify", "failed"] + words).finish()

        #expect(result.status == 64)
        #expect(result.errors == "clarity-jobs: \(message)\n")
    }
}
