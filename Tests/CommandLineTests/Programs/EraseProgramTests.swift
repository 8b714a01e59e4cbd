import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// `outbox erase`, judged by what the backend still has.
@Suite("outbox erase", .timeLimit(.minutes(5)))
struct EraseProgramTests {
    /// Returns a playground whose three heart rates are at the backend.
    private func uploaded(
        _ route: String = "metrics",
        _ options: [String] = ["--dialect", "loop", "--quirks", "repaired"]
    ) async throws -> (Playground, Sandbox) {
        let playground = try await Playground(sandboxOptions: options) { url, folder in
            Playground.standardJobFile(url: url, folder: folder).replacing(
                "kind: bulk-upload", with: "kind: bulk-upload\n    options: { route: \(route) }")
        }
        try playground.writeExport(heartRates: 3)
        try await playground.logIn()
        let upload = try await playground.run("run", "upload")
        try #require(upload.status == 0, "\(upload.errors)")
        return (playground, try #require(playground.sandbox))
    }

    @Test func `without a terminal it shows what it would erase, and erases nothing`() async throws
    {
        let (playground, sandbox) = try await uploaded()

        let result = try await playground.run("outbox", "erase", "--all")
        let bare = try await playground.run("outbox", "erase")

        #expect(result.status == 64)
        #expect(
            result.errors.contains("3 uploads with 3 samples (3 heart_rate), measured from 20"),
            "\(result.errors)")
        #expect(result.errors.contains("use --yes to erase these"))
        #expect(
            bare.isRefusal(64, "clarity-jobs: `outbox erase` wants numbers of samples, or --all"))
        #expect(try await sandbox.count("uploads") == 3)
    }

    @Test func `what was erased is gone at the backend, and is not sent again`() async throws {
        let (playground, sandbox) = try await uploaded()

        let result = try await playground.run("outbox", "erase", "--all", "--yes")
        #expect(result.status == 0, "\(result.errors)")
        #expect(
            result.outputLines == ["erased at the backend: 3 uploads with 3 samples (3 heart_rate)"]
        )
        #expect(try await sandbox.count("uploads") == 0)
        #expect(try await sandbox.count("metrics") == 0)

        let retry = try await playground.run("outbox", "retry", "--all", "--yes")
        let named = try await playground.run("outbox", "retry", "1", "--yes")
        let next = try await playground.run("run", "upload", "status", "--force")
        let outbox = try await playground.json("outbox")["outbox"]
        let log = try await playground.run("audit", "log")
        let audit = try await playground.run("audit")

        #expect(next.status == 0, "\(next.errors)")
        #expect(try await sandbox.count("uploads") == 0)
        #expect(retry.output == "0 samples waiting to be sent again\n")
        #expect(
            named.isRefusal(
                64,
                "clarity-jobs: sample 1 was erased at the backend; --reason erased sends it again"
            ))
        #expect(outbox["erased"].number == 3 && outbox["rejected"].number == 0)
        #expect(log.output.contains("erased") && log.output.contains("outbox erase"))
        #expect(audit.status == 0, "\(audit.output)")
        let again = try await playground.run("outbox", "erase", "--all", "--yes")
        #expect(again.status == 0 && again.output == "nothing to erase at the backend\n")
    }

    @Test func `erased samples are sent again if a person says so`() async throws {
        let (playground, sandbox) = try await uploaded()
        _ = try await playground.run("outbox", "erase", "--all", "--yes")

        let retry = try await playground.run("outbox", "retry", "--reason", "erased", "--yes")
        _ = try await playground.run("run", "upload", "--force")

        #expect(retry.output == "3 samples waiting to be sent again\n", "\(retry.errors)")
        #expect(try await sandbox.count("distinct_metric_ids") == 3)
    }

    @Test func `of a named sample its upload alone is erased`() async throws {
        let (playground, sandbox) = try await uploaded()

        let result = try await playground.run("outbox", "erase", "2", "--yes")
        let unknown = try await playground.run("outbox", "erase", "99", "--yes")

        #expect(result.status == 0, "\(result.errors)")
        #expect(try await sandbox.count("uploads") == 2)
        #expect(unknown.isRefusal(1, "clarity-jobs: the outbox has no sample 99"))
        let list = try await playground.json("outbox", "list")
        let erased = list.elements.filter { $0["reason"].text?.hasPrefix("erased") == true }
        #expect(erased.map { $0["id"].number } == [2])
    }

    @Test(arguments: [
        ("samples", ["--dialect", "loop", "--quirks", "repaired"]),
        ("samples", ["--dialect", "blueprint"]), ("metrics", ["--dialect", "blueprint"]),
    ])
    func `samples without a deletion at the backend are named`(
        route: String, options: [String]
    ) async throws {
        let (playground, sandbox) = try await uploaded(route, options)
        let before = try await sandbox.count(route)

        let result = try await playground.run("outbox", "erase", "--all", "--yes")

        #expect(result.status == 0, "\(result.errors)")
        #expect(
            result.outputLines == [
                "nothing to erase at the backend",
                "not erasable: 3 samples (3 heart_rate); the backend has no deletion for the endpoint "
                    + "that took them",
            ])
        #expect(before == 3)
        #expect(try await sandbox.count(route) == 3)
    }

    @Test func `a command that is killed after the deletion is finished by the next one`()
        async throws
    {
        let (playground, sandbox) = try await uploaded()
        try await sandbox.addFault("GET /health-data/processing/*: pass, hang")
        let first = try playground.start(["outbox", "erase", "1", "--yes"])
        while try await sandbox.count("uploads") == 3 {}
        first.signal(SIGKILL)
        _ = await first.finish()
        try await sandbox.clearFaults()

        // The job that asks about uploads does not take the deletion for something else.
        _ = try await playground.run("run", "status", "--force")
        let next = try await playground.run("outbox", "erase", "1", "--yes")

        #expect(next.status == 0, "\(next.output)\(next.errors)")
        #expect(
            next.outputLines == ["erased at the backend: 1 upload with 1 sample (1 heart_rate)"])
        #expect(try await sandbox.count("uploads") == 2)
        #expect(try await playground.json("outbox")["outbox"]["erased"].number == 1)
    }

    @Test(arguments: ["none", "delete-says-yes"])
    func `a deletion whose answer is lost is proven by the status`(quirk: String) async throws {
        let quirks = quirk == "none" ? [] : ["--quirks", quirk]
        let (playground, sandbox) = try await uploaded("metrics", ["--dialect", "loop"] + quirks)
        try await sandbox.addFault("DELETE /health-data/*: drop x2")

        let result = try await playground.run("outbox", "erase", "--all", "--yes")

        #expect(result.status == 0, "\(result.output)\(result.errors)")
        #expect(
            result.outputLines == ["erased at the backend: 3 uploads with 3 samples (3 heart_rate)"]
        )
        #expect(try await sandbox.count("uploads") == 0)
    }

    @Test func `an error leaves the rest, and the next command goes on`() async throws {
        let (playground, sandbox) = try await uploaded()
        try await sandbox.addFault("DELETE /health-data/*: pass, outage x9")

        let first = try await playground.run("outbox", "erase", "--all", "--yes")
        try await sandbox.clearFaults()
        let next = try await playground.run("outbox", "erase", "--all", "--yes")

        #expect(first.status == 69, "\(first.errors)")
        #expect(
            first.outputLines == [
                "erased at the backend: 1 upload with 1 sample (1 heart_rate)",
                "2 uploads left; `clarity-jobs outbox erase` goes on",
            ])
        #expect(next.status == 0)
        #expect(try await sandbox.count("uploads") == 0)
    }

    @Test(arguments: [
        ("DELETE /health-data/*: 200 x*", "3 uploads not erased: the backend still has them", 3),
        (
            "GET /health-data/processing/*: 404 x*",
            "3 uploads not proven to be erased: the backend did not know them before", 0
        ),
    ])
    func `an answer that proves nothing erases nothing here`(
        fault: String, line: String, uploads: Int
    ) async throws {
        let (playground, sandbox) = try await uploaded()
        try await sandbox.addFault(fault)

        let result = try await playground.run("outbox", "erase", "--all", "--yes")

        #expect(result.status == 1, "\(result.errors)")
        #expect(
            result.outputLines == ["erased at the backend: 0 uploads with 0 samples", line])
        #expect(try await sandbox.count("uploads") == uploads)
        #expect(try await playground.json("outbox")["outbox"]["erased"].number == 0)
    }
}
