import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Testing

@Suite(
    "The programs on a network that comes and goes", .timeLimit(.minutes(5)),
    .enabled(if: NetworkNamespace.isPermitted, "needs network namespaces"))
struct NetworkProgramTests {
    private static func jobFile(_ constraint: String) -> String {
        """
        version: 1
        backend: { url: "http://127.0.0.1:9/api/v1" }
        jobs:
          - { id: cleanup, kind: cleanup, schedule: { every: 1d }, constraints: { \(constraint) } }

        """
    }

    /// Starts a loop and returns once its history says that the job waits.
    private func loopThatWaits(_ playground: Playground) async throws -> ChildProgram {
        let loop = try playground.start(["loop"])
        _ = try #require(await loop.readErrorLine())
        while try await playground.json("history").elements.first?["waiting_on"].elements.isEmpty
            ?? true
        {}
        return loop
    }

    @Test func `a due run waits without a route, and explain says so`() async throws {
        let network = try await blocking { try NetworkNamespace() }
        let playground = try await Playground(sandboxOptions: nil, in: network) { _, _ in
            Self.jobFile("network: any")
        }

        let due = try await playground.run("run", "--due")
        let explain = try await playground.run("explain", "cleanup")
        let history = try await playground.lastRun(of: "cleanup")

        #expect(due.status == 75)
        #expect(due.output == "" && due.errors == "")
        let row = try #require(explain.outputLines.first { $0.hasPrefix("network ") })
        #expect(row.contains("connected"))
        #expect(row.contains("not connected  rtnetlink: no default route  unmet"), "\(row)")
        #expect(explain.outputLines.contains("to start: connect to a network"))
        #expect(
            history["waiting_on"].elements.first?["source"]
                == .string("rtnetlink: no default route"))
    }

    /// Returns a job file without constraints.
    private static func jobFile(backend url: String, keys: String = "") -> String {
        """
        version: 1
        backend: { url: "\(url)", retry_wait: 1ms }
        jobs:
          - { id: insights, kind: insight-history, schedule: { every: 1d }\(keys) }
          - { id: cleanup, kind: cleanup, schedule: { every: 1d } }

        """
    }

    @Test func `a job that talks to the backend implies a network constraint`()
        async throws
    {
        let network = try await blocking { try NetworkNamespace() }
        let playground = try await Playground(sandboxOptions: nil, in: network) { _, _ in
            Self.jobFile(backend: "https://clarity.example/api/v1")
        }

        let validate = try await playground.run("validate")
        let run = try await playground.run("run", "insights")
        let explain = try await playground.run("explain", "insights")
        let list = try await playground.run("list")
        let cleanup = try await playground.run("run", "cleanup")
        let history = try await playground.lastRun(of: "insights")

        let source = "rtnetlink: no default route; implied by kind `insight-history`"
        #expect(
            validate.outputLines == [
                "\(playground.jobFilePath): valid, 2 jobs",
                "implied: `network: any` for insights; `network: none` turns it off",
            ])
        #expect(run.status == 75, "\(run.errors)")
        #expect(
            run.errorLines.first?.contains(
                "waits for network: wanted connected, is not connected (\(source))") == true,
            "\(run.errors)")
        #expect(history["attempts"] == .number(0) && history["state"] == .string("enqueued"))
        #expect(explain.output.contains(source), "\(explain.output)")
        #expect(list.output.contains(source), "\(list.output)")
        #expect(cleanup.status == 0, "\(cleanup.errors)")
    }

    @Test(arguments: [
        ("https://clarity.example/api/v1", ", constraints: { network: none }"),
        ("http://127.0.0.1:9/api/v1", ""), ("http://[::1]:9/api/v1", ""),
        ("http://localhost:9/api/v1", ""),
    ])
    func `network: none or a backend on this machine removes the implied constraint`(
        url: String, keys: String
    ) async throws {
        let network = try await blocking { try NetworkNamespace() }
        let playground = try await Playground(sandboxOptions: nil, in: network) { _, _ in
            Self.jobFile(backend: url, keys: keys)
        }

        let validate = try await playground.run("validate")
        let explanation = try await playground.json("explain", "insights")

        #expect(validate.outputLines == ["\(playground.jobFilePath): valid, 2 jobs"])
        let subjects = explanation["constraints"].elements.map { $0["subject"] }
        #expect(!subjects.contains(.string("network")))
    }

    @Test(arguments: ["network: any", "network: unmetered"])
    func `a new route starts the runs that wait in a loop`(constraint: String) async throws {
        let network = try await blocking { try NetworkNamespace() }
        let playground = try await Playground(sandboxOptions: nil, in: network) { _, _ in
            Self.jobFile(constraint)
        }
        let loop = try await loopThatWaits(playground)

        try await blocking { try network.connect() }
        // By itself the loop checks again only after a quarter of an hour.
        let line = try #require(await loop.readErrorLine())
        loop.signal(SIGTERM)

        #expect(line.hasPrefix("cleanup: succeeded"), "\(line)")
        #expect(await loop.finish().status == 143)
    }

    @Test func `a cable whose other end is down is no connection`() async throws {
        let network = try await blocking { try NetworkNamespace() }
        try await blocking { try network.connect() }
        try await blocking { try network.unplug() }
        let playground = try await Playground(sandboxOptions: nil, in: network) { _, _ in
            Self.jobFile("network: any")
        }

        let due = try await playground.run("run", "--due")
        let waits = try await playground.lastRun(of: "cleanup")["waiting_on"].elements.first
        let loop = try await loopThatWaits(playground)
        try await blocking { try network.plugIn() }
        let line = try #require(await loop.readErrorLine())
        loop.signal(SIGTERM)

        #expect(due.status == 75)
        #expect(
            waits?["source"].text?.hasPrefix("rtnetlink: default route over eth0, which ") == true,
            "\(waits?["source"].text ?? "")")
        #expect(line.hasPrefix("cleanup: succeeded"), "\(line)")
        _ = await loop.finish()
    }

    @Test func `an upload that loses its route stops, and continues with a new route`() async throws
    {
        let network = try await blocking { try NetworkNamespace() }
        try await blocking { try network.connect() }
        let playground = try await Playground(in: network) { url, folder in
            """
            version: 1
            backend: { url: "\(url)", retry_wait: 1ms }
            sources: [{ kind: apple-health-export, path: \(folder)/export.xml }]
            jobs:
              - id: upload
                kind: bulk-upload
                schedule: { every: 1d }
                warning: 1s
                constraints: { network: any }
                retry: { attempts: 1 }

            """
        }
        try playground.writeExport(heartRates: 5)
        try await playground.logIn()
        try await playground.sandbox?.addFault("POST /health-data/upload: hang x*")
        let loop = try playground.start(["loop"])
        _ = try #require(await loop.readErrorLine())
        // The batch is recorded before it is sent.
        let outbox = try FileConnection(
            path: "\(playground.statePath)/health.db", access: .readOnly)
        while try outbox.first(
            "SELECT 1 FROM batches WHERE state = 'sending'", map: { _ in true }) == nil
        { await Task.yield() }

        try await blocking { try network.disconnect() }
        let stopped = try #require(await loop.readErrorLine())
        let between = try await playground.lastRun(of: "upload")
        loop.signal(SIGTERM)
        _ = await loop.finish()
        try await blocking { try network.connect() }
        try await playground.sandbox?.clearFaults()
        // A run by hand does not wait for the backoff after the stop.
        let again = try await playground.run("run", "upload")
        let run = try await playground.json("history", "show", "1")

        #expect(
            stopped.hasPrefix("upload: stopped (a constraint no longer held), goes on at "),
            "\(stopped)")
        #expect(between["state"] == .string("enqueued"))
        #expect(
            between["waiting_on"].elements.map { $0["subject"] }
                == [.string("backoff"), .string("network")])
        #expect(again.status == 0, "\(again.errors)")
        #expect(again.output.contains(": 5 sent"), "\(again.output)")
        let attempts = run["attempt_list"].elements
        #expect(attempts.map { $0["stop_reason"] } == [.string("constraintLost"), .null])
        #expect(try await playground.sandbox?.count("metrics") == 5)
        // With one attempt allowed, the run would be over if the stop counted.
        #expect(run["state"] == .string("succeeded"))
    }
}
