@testable import HealthStore
@testable import HealthModel
import ClarityScheduler
import ClarityTestSupport
import Database
import Foundation
import Glibc
@testable import ProgramTestSupport
import Testing

/// The state files of each release, as `Tests/Releases/make` has kept them, under this version.
@Suite("State files of releases", .timeLimit(.minutes(5)))
struct ReleaseStateTests {
    private static let releases: [String] = {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: FirstRelease.folder)
                .filter { $0.hasSuffix(".tgz") }.sorted()
        } catch {
            return ["\(error)"]
        }
    }()

    /// Returns the numbers above zero in a text.
    private func counts(in text: String) -> [Int] {
        text.split { !$0.isNumber }.compactMap { Int($0) }.filter { $0 > 0 }
    }

    @Test(arguments: releases)
    func `this version goes on where a release ended`(release: String) async throws {
        let playground = try await unpacked(release)
        func read(_ name: String) throws -> String {
            String(
                decoding: try TemporaryFolder.read("\(playground.folder.path)/\(name)"),
                as: UTF8.self)
        }

        let outbox = try await playground.run("outbox")
        let history = try await playground.json("history")
        let audit = try await playground.run("audit")
        let log = try await playground.run("audit", "log", "--verify")
        try await playground.logIn()
        let again = try await playground.run("run", "upload", "--force")
        let after = try await playground.run("audit")
        let samples = try await playground.sandbox?.count("samples")

        // The sums of that release said each zero, and this one begins with what is left to do.
        let sums = outbox.outputLines.dropFirst().joined(separator: "\n")
        #expect(counts(in: sums) == counts(in: try read("outbox.txt")), "\(outbox)")
        let before = try JSONValue(try read("history.json")).elements
        #expect(!before.isEmpty && history.elements.count == before.count)
        for (row, former) in zip(history.elements, before) {
            guard case .object(let fields) = former else { continue }
            for (name, value) in fields where name != "summary" { #expect(row[name] == value) }
        }
        #expect(audit.status == 0 && log.status == 0, "\(audit.errors)\(log.errors)")
        #expect(again.status == 0, "\(again.errors)")
        #expect(samples == 0, "\(again.errors)")
        #expect(after.status == 0, "\(after.errors)")
    }

    @Test func `samples that 0.1.0 gave up at the deployed backend are stored unasked`()
        async throws
    {
        let playground = try await unpacked("0.1.0.tgz")
        // As the deployed backend and the blueprint name uploads.
        let user = "5f0c7e52-6a1d-4f0e-9b1e-2d8a4c3b7a10"
        let deployed = (1...4).map { "\(user)-0000000000000000000000000000000\($0)" }
        let blueprint = "\(user)-8f62a0c4-d1e9-4b7f-a35c-9d20e7b61f48"
        let metrics = "8f62a0c4-d1e9-4b7f-a35c-9d20e7b61f48"
        let uploads =
            deployed.map { ("samples", $0, 1000) } + [
                ("samples", blueprint, 10), ("metrics", metrics, 10),
            ]
        try addGivenUp(uploads, state: playground.statePath)

        // The ledger of the release does not have these samples; the sums are not the matter here.
        let sums = try await playground.run("outbox", "-o", "json")
        let outbox = try JSONValue(sums.output)["outbox"]
        let review = try await playground.run("outbox", "retry", "--all")
        let requests = try await playground.sandbox?.count("requests")

        #expect(outbox["stored"].number == 4000, "\(outbox)")
        #expect(outbox["unconfirmed"].number == 20, "\(outbox)")
        #expect(outbox["confirmed"].number == 122, "\(outbox)")
        #expect(review.errorLines.contains("  20 heart_rate unconfirmed"), "\(review.errors)")
        #expect(requests == 0)
        let file = try FileConnection(path: "\(playground.statePath)/health.db")
        let lines = try file.all(
            """
            SELECT DISTINCT state || ' ' || route || ' ' || coalesce(reason, 'none')
            FROM batches WHERE processing_id LIKE '\(user)%' OR processing_id = '\(metrics)'
            ORDER BY 1
            """
        ) { $0.text(0) }
        #expect(
            lines == [
                "stored samples none", "unconfirmed metrics late", "unconfirmed samples late",
            ])
    }

    /// Returns a playground with the files of a release, and the job file of that time.
    private func unpacked(_ release: String) async throws -> Playground {
        let playground = try await Playground { _, _ in "" }
        let folder = playground.folder.path
        try FirstRelease.unpack(release, into: folder)
        let jobFile = String(
            decoding: try TemporaryFolder.read("\(folder)/jobs.yaml"), as: UTF8.self)
        try playground.write { url, folder in
            jobFile.replacing("@URL@", with: url).replacing("@FOLDER@", with: folder)
        }
        return playground
    }

    /// Writes uploads that were given up after a week into a state, as 0.1.0 left them.
    private func addGivenUp(
        _ uploads: [(route: String, id: String, count: Int)], state: String
    ) throws {
        let source = MasterKeySource(stateDirectory: state, environment: [:])
        let cipher = try Cipher(try #require(try source.load()))
        let file = try FileConnection(path: "\(state)/health.db", access: .readWrite)
        var encryption = PortionEncryption(cipher)
        var second: Int64 = 1_780_000_000
        try file.transaction {
            for upload in uploads {
                try file.run(
                    """
                    INSERT INTO batches (state, client_timestamp_ms, attempts, processing_id,
                        reason, accepted_at_ms, finished_at_ms, route, sends, last_word)
                    VALUES ('unconfirmed', 0, 1, ?, 'late', 1, 2, ?, 1, 'processing, 75 %')
                    """, .text(upload.id), .text(upload.route))
                let batch = try file.integer("SELECT max(id) FROM batches") ?? 0
                for _ in 0..<upload.count {
                    second += 60
                    let at = Instant(secondsSince1970: second)
                    let sample = Sample(
                        kind: .heartRate, start: at, end: at, value: .single(61), source: nil)
                    var row = encryption.row(sample)
                    var bytes: [UInt8] = []
                    encryption.encrypt(sample, for: &row, Cipher.nonces(1), 0, onto: &bytes)
                    try file.run(
                        """
                        INSERT INTO outbox (kind, start_s, end_s, tag, sealed, state, batch_id)
                        VALUES ('heart_rate', ?, ?, ?, ?, 'batched', ?)
                        """, .integer(row.start), .integer(row.end), .blob(row.indexBytes),
                        .blob(bytes), .integer(batch))
                }
            }
        }
    }
}
