import ClarityTestSupport
import Foundation
import Glibc
@testable import ProgramTestSupport
import Testing

/// The state files of each release, as `Tests/Releases/make` has kept them, under this version.
@Suite("State files of releases", .timeLimit(.minutes(5)))
struct ReleaseStateTests {
    private static let folder = "\(Playground.root)/Tests/Releases"

    private static let releases: [String] = {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder)
                .filter { $0.hasSuffix(".tgz") }.sorted()
        } catch {
            return ["\(error)"]
        }
    }()

    @Test(arguments: releases)
    func `this version goes on where a release ended`(release: String) async throws {
        let playground = try await Playground { _, _ in "" }
        let folder = playground.folder.path
        let unpacked = try await ChildProgram.run(
            "/bin/tar", ["-C", folder, "--no-same-owner", "-xzf", "\(Self.folder)/\(release)"],
            environment: ["PATH": "/usr/bin:/bin"])
        try #require(unpacked.status == 0, "\(unpacked.errors)")
        func read(_ name: String) throws -> String {
            String(decoding: try TemporaryFolder.read("\(folder)/\(name)"), as: UTF8.self)
        }
        let jobFile = try read("jobs.yaml")
        try playground.write { url, folder in
            jobFile.replacing("@URL@", with: url).replacing("@FOLDER@", with: folder)
        }

        let outbox = try await playground.run("outbox")
        let history = try await playground.json("history")
        let audit = try await playground.run("audit")
        let log = try await playground.run("audit", "log", "--verify")
        try await playground.logIn()
        let again = try await playground.run("run", "upload", "--force")
        let after = try await playground.run("audit")
        let samples = try await playground.sandbox?.count("samples")

        #expect(outbox.output == (try read("outbox.txt")), "\(outbox.errors)")
        #expect(history == (try JSONValue(try read("history.json"))))
        #expect(audit.status == 0 && log.status == 0, "\(audit.errors)\(log.errors)")
        #expect(again.status == 0, "\(again.errors)")
        #expect(samples == 0, "\(again.errors)")
        #expect(after.status == 0, "\(after.errors)")
    }
}
