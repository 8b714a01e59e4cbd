import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// One wearer's links to another's data, through the built programs and judged by the backend.
@Suite("Links from one account's sources to another's", .timeLimit(.minutes(5)))
struct LinkedSourceProgramTests {
    private let family = AccountsProgramTests()

    /// What stands in Ben's folder, and what it leads to in Anna's.
    struct Link: Sendable, CustomStringConvertible {
        var description: String
        var path: String
        var target: String
        var isHard = false
        /// The job's message about it; `nil` if it says nothing.
        var message: String?
    }

    static let links = [
        Link(
            description: "an export", path: "ben/export.xml", target: "../anna/export.xml",
            message: "ben/export.xml` is a symbolic link"),
        Link(
            description: "a folder of pushes", path: "ben/hae", target: "../anna/hae",
            message: "ben/hae` is a symbolic link"),
        Link(
            description: "a file in a folder of pushes", path: "ben/hae/a.json",
            target: "../../anna/hae/a.json", message: "ben/hae/a.json` is a symbolic link"),
        Link(
            description: "a second name of a push", path: "ben/hae/a.json",
            target: "anna/hae/a.json", isHard: true,
            message: "ben/hae/a.json` has another name"),
        Link(
            description: "a spool", path: "ben/spool", target: "../anna/spool",
            message: "ben/spool` is a symbolic link"),
        Link(
            description: "a file in a spool", path: "ben/spool/a.ndjson",
            target: "../../anna/spool/a.ndjson"),
        Link(
            description: "a second name of a file in a spool", path: "ben/spool/a.ndjson",
            target: "anna/spool/a.ndjson", isHard: true,
            message: "ben/spool/a.ndjson` has another name"),
        Link(
            description: "the whole folder", path: "ben", target: "anna",
            message: "ben` is a symbolic link"),
    ]

    @Test(arguments: links, [false, true])
    func `a link brings nothing of another account, and leaves its files`(
        link: Link, isOwnSource: Bool
    ) async throws {
        let playground = try await family.playground()
        let folder = playground.folder.path
        try playground.write { url, folder in
            """
            version: 1
            backend: { url: "\(url)", retry_wait: 1ms }
            accounts: accounts.d
            sources: \(LinkedSourceProgramTests.sources("\(folder)/{account}"))
            jobs:
              - { id: upload, kind: bulk-upload, schedule: { every: 1h }, retry: { attempts: 1 } }

            """
        }
        try await family.logIn(["ben"], playground)
        if isOwnSource {
            let text =
                "login: ben@example.org\nsources: "
                + "\(LinkedSourceProgramTests.sources("\(folder)/ben"))\n"
            try playground.folder.write("accounts.d/ben.yaml", Array(text.utf8))
        }
        try writeData(of: "anna", playground)
        let before = try annas(playground)
        if link.path != "ben" {
            for path in ["ben", "ben/hae", "ben/spool"] where path != link.path {
                try #require(mkdir("\(folder)/\(path)", 0o700) == 0)
            }
        }
        let made =
            link.isHard
            ? Glibc.link("\(folder)/\(link.target)", "\(folder)/\(link.path)")
            : symlink(link.target, "\(folder)/\(link.path)")
        try #require(made == 0)

        _ = try await family.run(playground, "run", "ben/upload")
        let history = try await family.run(
            playground, "--account", "ben", "history", "show", "1", "-o", "json")

        #expect(try await playground.sandbox?.count("distinct_metric_ids") == 0)
        #expect(try annas(playground) == before)
        if let message = link.message {
            #expect((history.output + history.errors).contains(message), "\(history)")
        }
    }

    @Test func `the same sources bring an account's own files, and delete them`() async throws {
        let playground = try await family.playground()
        try playground.write { url, folder in
            """
            version: 1
            backend: { url: "\(url)", retry_wait: 1ms }
            accounts: accounts.d
            sources: \(LinkedSourceProgramTests.sources("\(folder)/linked/{account}"))
            jobs:
              - { id: upload, kind: bulk-upload, schedule: { every: 1h }, retry: { attempts: 1 } }

            """
        }
        let folder = playground.folder.path
        // The administrator's own link, above the folders of the accounts.
        try #require(mkdir("\(folder)/disk", 0o700) == 0)
        try #require(symlink("disk", "\(folder)/linked") == 0)
        try await family.logIn(["ben"], playground)
        try writeData(of: "disk/ben", playground)

        let result = try await family.run(playground, "run", "ben/upload")

        #expect(result.status == 0, "\(result.errors)")
        #expect(try await playground.sandbox?.count("distinct_metric_ids") == 4)
        #expect(!family.exists("disk/ben/hae/a.json", playground))
        #expect(family.exists("disk/ben/spool/done/a.ndjson", playground))
    }

    private static func sources(_ folder: String) -> String {
        """
        [{ kind: apple-health-export, path: "\(folder)/export.xml", time_zone: UTC }, \
        { kind: health-auto-export, path: "\(folder)/hae", time_zone: UTC, \
        delete_after_reading: true }, { kind: spool, path: "\(folder)/spool" }]
        """
    }

    /// Writes an export, a push and a file of samples, with two heart rates, one and one.
    private func writeData(of account: String, _ playground: Playground) throws {
        let folder = playground.folder.path
        for path in [account, "\(account)/hae", "\(account)/spool"] {
            try #require(mkdir("\(folder)/\(path)", 0o700) == 0)
        }
        try playground.writeExport(heartRates: 2)
        try #require(rename("\(folder)/export.xml", "\(folder)/\(account)/export.xml") == 0)
        let push = """
            {"data":{"metrics":[{"name":"heart_rate","units":"bpm","data":[
            {"date":"2024-02-06 14:29:00 +0000","Min":61,"Avg":61,"Max":61}]}]}}
            """
        try playground.folder.write("\(account)/hae/a.json", Array(push.utf8))
        let sample = #"{"kind":"heart_rate","start":"2024-01-02T03:04:05Z","value":61}"# + "\n"
        try playground.folder.write("\(account)/spool/a.ndjson", Array(sample.utf8))
    }

    /// What Anna's files have.
    private func annas(_ playground: Playground) throws -> [[UInt8]] {
        try ["export.xml", "hae/a.json", "spool/a.ndjson"].map {
            try TemporaryFolder.read("\(playground.folder.path)/anna/\($0)")
        }
    }
}
