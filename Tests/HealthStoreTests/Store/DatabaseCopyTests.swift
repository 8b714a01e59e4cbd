import ClarityTestSupport
import Database
import Synchronization
import Testing

@testable import HealthStore

@Suite("A copy of a database that is in use")
struct DatabaseCopyTests {
    /// Changes every row, grows and shrinks the file, and checkpoints the log, until told to stop.
    private static func write(_ path: String, until isOver: borrowing Atomic<Bool>) throws {
        let writer = try FileConnection(path: path, access: .readWrite)
        while !isOver.load(ordering: .relaxed) {
            try writer.execute(
                """
                BEGIN IMMEDIATE;
                UPDATE pages SET generation = generation + 1;
                INSERT INTO pages (generation, filling)
                    SELECT generation, randomblob(3000) FROM pages;
                COMMIT;
                PRAGMA wal_checkpoint(TRUNCATE);
                BEGIN IMMEDIATE;
                UPDATE pages SET generation = generation + 1;
                DELETE FROM pages WHERE id > 100;
                COMMIT;
                PRAGMA incremental_vacuum;
                PRAGMA wal_checkpoint(TRUNCATE);
                """)
        }
    }

    @Test func `a copy is one consistent state, whatever is written meanwhile`() async throws {
        let folder = try TemporaryFolder(isInMemory: true)
        let path = "\(folder.path)/health.db"
        let file = try FileConnection(path: path)
        try file.execute("PRAGMA auto_vacuum = INCREMENTAL")
        try file.useWriteAheadLog()
        try file.execute(
            """
            CREATE TABLE pages (id INTEGER PRIMARY KEY, generation INTEGER, filling BLOB);
            INSERT INTO pages (generation, filling)
                WITH RECURSIVE counter (n) AS (SELECT 1 UNION SELECT n + 1 FROM counter LIMIT 100)
                SELECT 1, randomblob(3000) FROM counter;
            """)
        let isOver = Flag()
        async let writing: Void = blocking { try Self.write(path, until: isOver.value) }

        let findings = try await blocking {
            defer { isOver.value.store(true, ordering: .relaxed) }
            return try (0..<300).compactMap { _ -> String? in
                let copy = try FileConnection(path: "")
                try DatabaseCopy(path: path, drafts: folder.path).copy(into: copy)
                let faults = try copy.all("PRAGMA integrity_check") { $0.text(0) }
                let states = try copy.all("SELECT DISTINCT generation FROM pages") { $0.integer(0) }
                return faults == ["ok"] && states.count == 1 ? nil : "\(faults) \(states)"
            }
        }
        try await writing

        #expect(findings == [])
    }
}

/// A flag that two threads share.
private final class Flag: Sendable {
    let value = Atomic(false)
}
