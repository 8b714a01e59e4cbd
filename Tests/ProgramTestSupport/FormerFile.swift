@testable import ClarityHost
@testable import HealthStore
import ClarityTestSupport
import Glibc
import Database
import Testing

/// A database with the tables of 0.1.0 and the migrations up to a later version, with the rows of
/// the current version as far as the former one has columns for them.
struct FormerFile {
    private let path: String
    private let migrations: Migrations
    private let version: Int
    /// The number of rows in each table.
    private var counts: [String: Int64] = [:]

    init(_ path: String, _ migrations: Migrations, _ version: Int) throws {
        self.path = path
        self.migrations = migrations
        self.version = version
        let draft = "\(path).former"
        do {
            let former = try FileConnection(path: draft)
            try FirstRelease.make(String(path.split(separator: "/").last ?? ""), in: former)
            for step in migrations.steps[..<(version - migrations.oldest)] {
                try former.execute(step)
            }
            try former.execute(
                "PRAGMA user_version = \(version); ATTACH '\(path)' AS present;")
            for table in try FormerFile.tables("main", former) {
                let columns = try FormerFile.columns(table, "main", former)
                let common = try FormerFile.columns(table, "present", former)
                    .filter(columns.contains)
                let list = common.joined(separator: ", ")
                try former.execute(
                    """
                    INSERT OR REPLACE INTO main.\(table) (\(list))
                    SELECT \(list) FROM present.\(table)
                    """)
                counts[table] = try FormerFile.count(table, former)
            }
            try former.execute("DETACH present")
        }
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        try #require(rename(draft, path) == 0)
        try #require(chmod(path, 0o600) == 0)
        // A check without rows would prove nothing.
        try #require(counts["runs"] ?? counts["outbox"] ?? 0 > 0)
    }

    /// Brings the audit log into the form of 0.1.0, which had no counts of rows.
    func forgetCounts(state: String) throws {
        let source = MasterKeySource(stateDirectory: state, environment: [:])
        let cipher = try Cipher(try #require(try source.load()))
        let file = try FileConnection(path: path, access: .readWrite)
        let encrypted = cipher.encrypt(KeyCheck.renotedText, for: KeyCheck.row)
        try file.run("UPDATE canary SET sealed = ?", .blob(encrypted))
        let head = try file.first(
            """
            SELECT anchor_number, anchor_hash, last_number, last_hash, uploaded_number,
                broken_number
            FROM audit_head
            """
        ) {
            AuditHead(
                anchorNumber: $0.integer(0), anchorHash: $0.blob(1), lastNumber: $0.integer(2),
                lastHash: $0.blob(3), uploadedNumber: $0.integer(4),
                brokenNumber: $0.optionalInteger(5))
        }
        if let head { try file.run("UPDATE audit_head SET mac = ?", .blob(head.mac(cipher))) }
    }

    /// Returns the tables that have fewer rows than before.
    func lost() throws -> [String] {
        let file = try FileConnection(path: path, access: .readWrite)
        let version = try file.first("PRAGMA user_version") { Int($0.integer(0)) }
        var lost = version == migrations.newest ? [] : ["it has version \(version ?? -1)"]
        for (table, count) in counts {
            let now = try FormerFile.count(table, file)
            if now < count { lost.append("\(table): \(now) of \(count) rows") }
        }
        return lost
    }

    private static func tables(_ schema: String, _ file: Connection) throws -> [String] {
        try file.all(
            "SELECT name FROM \(schema).sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ) { $0.text(0) }
    }

    private static func columns(
        _ table: String, _ schema: String, _ file: Connection
    ) throws -> [String] {
        try file.all("SELECT name FROM pragma_table_info('\(table)', '\(schema)')") { $0.text(0) }
    }

    private static func count(_ table: String, _ file: Connection) throws -> Int64 {
        try file.first("SELECT count(*) FROM \(table)") { $0.integer(0) } ?? 0
    }
}

/// Converts both state files to those of 0.1.0, with their rows.
func makeFirstReleaseFiles(state: String) throws {
    _ = try FormerFile("\(state)/history.db", historyMigrations, historyMigrations.oldest)
    try makeFirstReleaseHealthFile(state: state)
}

/// Converts the health data to that of 0.1.0, with its rows.
func makeFirstReleaseHealthFile(state: String) throws {
    let migrations = HealthSchema.migrations
    try FormerFile("\(state)/health.db", migrations, migrations.oldest)
        .forgetCounts(state: state)
}
