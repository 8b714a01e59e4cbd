import ClarityTestSupport
@testable import ProgramTestSupport
import Database
import Testing

/// Somebody who may write the state directory and has no key, with copies of files and the SQLite
/// library, judged by what `audit` says.
@Suite("Rows that somebody without the key changes", .timeLimit(.minutes(10)))
struct CountedRowsProgramTests {
    /// Returns a playground whose samples were sent, and others that wait.
    private func filled() async throws -> Playground {
        let playground = try await Playground.quick()
        try await playground.logIn()
        try playground.useExample("export.zip")
        #expect(try await playground.run("run", "upload").status == 0)
        return playground
    }

    private func health(_ playground: Playground) -> String { "\(playground.statePath)/health.db" }

    private func attack(_ playground: Playground, _ script: String) throws {
        let file = try FileConnection(path: health(playground), access: .readWrite)
        try file.execute(script)
    }

    private static let month = "start_s / 2629746 = (SELECT max(start_s) / 2629746 FROM outbox"

    /// What is done, and what a line of the report says of it.
    private static var attacks: [(script: String, line: Regex<Substring>)] {
        [
            (
                // The ledger is changed as well, so that the sums still agree.
                """
                UPDATE readings SET rows_removed = rows_removed + (SELECT count(*) FROM outbox
                    WHERE kind = 'heart_rate' AND \(month) WHERE kind = 'heart_rate'))
                    WHERE id = (SELECT max(id) FROM readings WHERE tag NOT NULL);
                DELETE FROM outbox WHERE kind = 'heart_rate'
                    AND \(month) WHERE kind = 'heart_rate');
                """,
                #/outbox-counts: samples, heart_rate in 20\d\d-\d\d: got \d+ \w+, wanted [1-9]\d*.*/#
            ),
            (
                "DELETE FROM segments; DELETE FROM segment_days",
                #/outbox-counts: segments of records, \w+ in 20\d\d-\d\d: got 0, wanted 1/#
            ),
            (
                "DELETE FROM contributions",
                #/outbox-counts: partial aggregates of days, \w+ in the four weeks from 20[\d-]+: got 0, wanted 1/#
            ),
            (
                """
                UPDATE outbox SET state = 'confirmed'
                WHERE id = (SELECT min(id) FROM outbox WHERE state = 'batched')
                """,
                #/outbox-counts: samples, \w+ in 20\d\d-\d\d: got \d+ batched, wanted \d+; 1 confirmed, wanted 0/#
            ),
            (
                "UPDATE batches SET state = 'stored' WHERE id = 1",
                #/outbox-counts: uploads: got \d+ confirmed, wanted \d+; 1 stored, wanted 0/#
            ),
        ]
    }

    @Test func `what was removed or changed is named by type and month`() async throws {
        let playground = try await filled()
        let sound = try await playground.run("audit")
        let former = try TemporaryFolder.read(health(playground))

        #expect(sound.status == 0, "\(sound.output)")
        for (script, line) in Self.attacks {
            try attack(playground, script)
            let audit = try await playground.run("audit")
            let json = try await playground.run("audit", "-o", "json")
            try playground.folder.write("state/health.db", former)

            #expect(audit.status == 1 && json.status == 1, "\(script): \(audit.output)")
            #expect(
                audit.outputLines.contains { $0.wholeMatch(of: line) != nil },
                "\(script): \(audit.output)")
            #expect(!audit.output.contains("the archive is sound"), "\(audit.output)")
        }
        #expect(try await playground.run("audit").status == 0)
    }

    @Test(arguments: [false, true])
    func `an older end of the log with the older lock file is noticed`(
        withCounts: Bool
    ) async throws {
        let playground = try await Playground.quick()
        try await playground.logIn()
        try playground.writeExport(heartRates: 9)
        let first = "\(playground.folder.path)/export.xml"
        #expect(try await playground.run("import", first, "-q").status == 0)
        let older = "\(playground.folder.path)/older.db"
        try playground.folder.write("older.db", try TemporaryFolder.read(health(playground)))
        let lock = try TemporaryFolder.read("\(playground.statePath)/health.lock")
        #expect(try await playground.run("run", "upload").status == 0)
        let sound = try await playground.run("audit", "log", "--verify")

        try attack(
            playground,
            """
            ATTACH '\(older)' AS older;
            DELETE FROM audit WHERE number > (SELECT last_number FROM older.audit_head);
            DELETE FROM audit_head;
            INSERT INTO audit_head SELECT * FROM older.audit_head;
            """)
        if withCounts {
            try attack(
                playground,
                """
                ATTACH '\(older)' AS older;
                DELETE FROM counts;
                INSERT INTO counts SELECT * FROM older.counts;
                """)
        }
        try playground.folder.write("state/health.lock", lock)
        let log = try await playground.run("audit", "log", "--verify")
        let audit = try await playground.run("audit")

        #expect(sound.status == 0, "\(sound.output)")
        #expect(audit.status == 1, "\(audit.output)")
        guard !withCounts else {
            #expect(
                audit.output.contains(
                    "samples, heart_rate in 2026-10: got 9 batched, wanted 0; 0 queued, wanted 9"),
                "\(audit.output)")
            return
        }
        let reason =
            "the head of the log is older than the counts of the rows: an older head was put back"
        #expect(log.status == 1 && log.output.hasSuffix(": \(reason)\n"), "\(log.output)")
        #expect(audit.output.contains("outbox-counts: \(reason)"), "\(audit.output)")
    }

    @Test func `a person can keep the data as it is, and the audit log has that`() async throws {
        let playground = try await filled()
        try attack(playground, "DELETE FROM contributions")

        let found = try await playground.run("audit")
        // The program goes on, and what it writes hides nothing.
        #expect(try await playground.run("run", "upload", "--force").status == 0)
        let later = try await playground.run("audit")
        let repair = try await playground.run("audit", "--repair")
        let sound = try await playground.run("audit")
        let log = try await playground.run("audit", "log")

        #expect(found.status == 1 && later.status == 1, "\(later)")
        #expect(found.errors.contains("`clarity-jobs audit --repair`"), "\(found.errors)")
        #expect(repair.status == 0 && repair.errors.contains("taken as it is: "), "\(repair)")
        #expect(sound.status == 0, "\(sound)")
        #expect(log.outputLines.contains { $0.contains("  counted  contradictions ") }, "\(log)")
    }

    @Test func `nothing of a long life without an attack contradicts the counts`() async throws {
        let playground = try await Playground(
            sandboxOptions: ["--dialect", "loop", "--quirks", "repaired"])
        try await playground.logIn()
        try playground.useExample("export.zip")
        func expectSound(_ arguments: String...) async throws {
            let result = try await playground.start(arguments).finish()
            #expect(result.status == 0, "\(arguments): \(result)")
            let audit = try await playground.run("audit")
            #expect(audit.status == 0, "\(arguments): \(audit)")
            let log = try await playground.run("audit", "log", "--verify")
            #expect(log.status == 0, "\(arguments): \(log)")
        }
        try await expectSound("run", "upload")
        try await expectSound("run", "refresh")
        try await expectSound("backup")
        try await expectSound("outbox", "erase", "--all", "--yes")
        try await expectSound("outbox", "retry", "--reason", "erased", "--yes")
        try await expectSound("run", "upload", "--force")
        try await expectSound("key", "rotate")
        try playground.writeExport(heartRates: 40)
        try await expectSound("import", "\(playground.folder.path)/export.xml", "-q")
        try await expectSound("run", "upload", "--force")
        try await expectSound("run", "cleanup")
        try await expectSound("backup")
        try await expectSound("outbox", "discard", "--all", "--yes")
        let backups = try playground.folder.contents().keys.filter {
            $0.hasPrefix("state/backups/")
        }
        let newest = try #require(backups.sorted().last?.split(separator: "/").dropFirst(2).first)
        try await expectSound("restore", "\(playground.statePath)/backups/\(newest)")
        try await expectSound("run", "upload", "--force")
        try await expectSound("auth", "logout", "--forget-data", "--yes")
    }
}
