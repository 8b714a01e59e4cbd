import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("dry-run", .timeLimit(.minutes(5)))
struct DryRunProgramTests {
    private static let user = "5f0c7e52-6a1d-4f0e-9b1e-2d8a4c3b7a10"

    @Test func `each of the five kinds shows its exact requests and changes nothing`() async throws
    {
        let playground = try await Playground()
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 3)
        try await playground.logIn()
        // An upload that is not processed yet, and samples that are not sent yet.
        let first = try await playground.run("run", "upload", "-o", "json")
        #expect([0, 75].contains(first.status), "\(first.errors)")
        try playground.writeExport(heartRates: 7)
        let requests = try await sandbox.count("requests")
        let before = try playground.folder.contents()

        let refresh = try await playground.run("dry-run", "refresh")
        let upload = try await playground.run("dry-run", "upload")
        let status = try await playground.run("dry-run", "status")
        let insights = try await playground.run("dry-run", "insights")
        let cleanup = try await playground.run("dry-run", "cleanup")

        let after = try playground.folder.contents()
        #expect(after.keys.sorted() == before.keys.sorted())
        #expect(before.keys.filter { before[$0] != after[$0] } == [])
        #expect(try await sandbox.count("requests") == requests)
        for result in [refresh, upload, status, insights, cleanup] { #expect(result.status == 0) }
        let get = ["  Authorization: <redacted>", "  Accept: application/json"]
        #expect(
            refresh.outputLines == ["GET \(sandbox.url)/auth/me"] + get + [
                "  -> the profile would be kept",
                "GET \(sandbox.url)/insights/history/\(Self.user)?limit=100&offset=0",
            ] + get + [
                "  -> insights would be kept; more pages would follow where the job reads them all",
                "GET \(sandbox.url)/health-data?limit=100",
            ] + get + [
                "  -> rows would be kept; more pages would follow while the backend has some",
                "would be: 0 insights pulled",
                "dry run of `refresh`: 3 requests shown, nothing was sent, nothing was changed",
            ])
        #expect(
            insights.outputLines == [
                "GET \(sandbox.url)/insights/history/\(Self.user)?limit=20&offset=0"
            ] + get + [
                "  -> insights would be kept; more pages would follow where the job reads them all",
                "would be: 0 insights pulled",
                "dry run of `insights`: 1 request shown, nothing was sent, nothing was changed",
            ])
        expectUpload(upload.outputLines, sandbox.url)
        #expect(
            cleanup.outputLines.dropFirst() == [
                "receipt: nothing; blake2b-256 "
                    + "cd5b461f08bafca5fbc01df6cd827605657059511efbbb3e3f73d5b74859b76b",
                "would remove: 0 samples removed",
                "dry run of `cleanup`: 0 requests shown, nothing was sent, nothing was changed",
            ])
        #expect(
            cleanup.outputLines.first?.hasPrefix(
                "what counts as old was confirmed or last listed before 2") == true)
    }

    /// Checks that one request has the four samples that are new in the second export.
    private func expectUpload(_ lines: [String], _ url: String) {
        #expect(lines.first == "POST \(url)/health-data/upload")
        #expect(lines.contains("  Authorization: <redacted>"))
        #expect(lines.contains("  Content-Type: application/json"))
        #expect(
            lines.contains {
                $0.wholeMatch(of: #/  body: \d+ bytes, blake2b-256 [0-9a-f]{64}/#) != nil
            })
        #expect(
            lines.suffix(3) == [
                "  -> taken as accepted: 4 metrics",
                "would be: 7 samples read, 4 samples queued, 3 samples duplicate, 4 samples sent, "
                    + "4 samples accepted",
                "dry run of `upload`: 1 request shown, nothing was sent, nothing was changed",
            ])
    }

    @Test func `a dry run shows the question about an accepted upload`() async throws {
        let playground = try await Playground { url, folder in
            Playground.standardJobFile(url: url, folder: folder)
                .replacing("then: [status]", with: "then: []")
        }
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 3)
        try await playground.logIn()
        _ = try await playground.run("run", "upload")
        let before = try playground.folder.contents()

        let status = try await playground.run("dry-run", "status")

        let after = try playground.folder.contents()
        #expect(after.keys.sorted() == before.keys.sorted())
        #expect(before.keys.filter { before[$0] != after[$0] } == [])
        let lines = status.outputLines
        let address = "\(sandbox.url)/health-data/processing/"
        #expect(
            lines.first?.hasPrefix("GET \(address)") == true && lines.first != "GET \(address)")
        #expect(
            lines.dropFirst().prefix(2) == [
                "  Authorization: <redacted>", "  Accept: application/json",
            ])
        #expect(
            lines.last
                == "dry run of `status`: 1 request shown, nothing was sent, nothing was changed")
    }

    @Test(arguments: [
        ("refresh", Int32(77)), ("upload", 77), ("status", 0), ("insights", 77), ("cleanup", 0),
    ])
    func `without a login and state, a dry run says so in one line and creates nothing`(
        job: String, expected: Int32
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil)
        try playground.writeExport(heartRates: 3)

        let result = try await playground.run("dry-run", job)

        #expect(result.status == expected)
        #expect(result.errorLines.first == "\(job): would start now")
        #expect(
            result.errorLines.dropFirst()
                == (expected == 0
                    ? [] : ["clarity-jobs: nobody is logged in; run `clarity-jobs auth login`"]))
        #expect(
            result.outputLines.last
                == "dry run of `\(job)`: 0 requests shown, nothing was sent, nothing was changed")
        #expect(try playground.folder.contents().keys.sorted() == ["export.xml", "jobs.yaml"])
    }

    @Test func `a dry run says what would hold the job back`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            Playground.standardJobFile(url: url, folder: folder).replacing(
                "every: 1d } }", with: "every: 1d }, constraints: { storage_free: 900TiB } }")
        }

        let result = try await playground.run("dry-run", "cleanup")

        #expect(result.status == 0)
        #expect(result.errorLines.first == "cleanup: would not start now")
        let line = try #require(result.errorLines.last)
        // The state directory does not exist yet, so the file system of the folder above counts.
        #expect(
            line.wholeMatch(
                of: #/  unmet: storage_free: wanted 900 TiB free, is [0-9.]+ [KMGT]iB free \(.*\)/#)
                != nil, "\(line)")
        #expect(line.hasSuffix("(\(playground.folder.path))"))
    }
}
