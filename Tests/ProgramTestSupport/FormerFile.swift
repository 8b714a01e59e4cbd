@testable import ClarityHost
@testable import HealthStore
import Glibc
import Database
import Testing

/// A database that was rebuilt by the migrations up to an earlier version, with the rows of the
/// current version as far as the earlier one has columns for them.
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
            for step in migrations.steps[..<version] { try former.execute(step) }
            try former.execute(
                """
                PRAGMA application_id = \(migrations.applicationID);
                PRAGMA user_version = \(version);
                ATTACH '\(path)' AS present;
                """)
            for table in try FormerFile.tables("main", former) {
                let columns = try FormerFile.columns(table, "main", former)
                let common = try FormerFile.columns(table, "present", former)
                    .filter(columns.contains)
                if !common.isEmpty {
                    let isShared = try version >= FormerFile.sharedStates || table != "outbox"
                    let values = common.map {
                        isShared || $0 != "state" ? $0 : FormerFile.ownState
                    }
                    try former.execute(
                        """
                        INSERT OR REPLACE INTO main.\(table) (\(common.joined(separator: ", ")))
                        SELECT \(values.joined(separator: ", ")) FROM present.\(table)
                        """)
                } else if table == "job_clocks" {
                    try former.execute(
                        """
                        INSERT INTO job_clocks
                        SELECT job_id, anchor_at_ms, considered_until_ms, era
                        FROM present.job_records WHERE anchor_at_ms IS NOT NULL
                        """)
                }
                counts[table] = try FormerFile.count(table, former)
            }
            if counts["decisions"] != nil {
                try former.execute(
                    """
                    INSERT INTO origins (digest, text) VALUES ('o', zeroblob(5000));
                    INSERT INTO decisions
                        SELECT id, enqueued_at_ms, 'o', hex(zeroblob(1500)), '[]', 1 FROM runs;
                    INSERT INTO decision_runs SELECT id, id FROM runs;
                    """)
            }
            try former.execute("DETACH present")
        }
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        try #require(rename(draft, path) == 0)
        try #require(chmod(path, 0o600) == 0)
        // A check without rows would prove nothing.
        try #require(counts["runs"] ?? counts["outbox"] ?? 0 > 0)
    }

    /// Removes the marks that the end of the audit log is noted in `health.lock`. No version before
    /// the current one noted it, and the first three had no audit log.
    func forgetAuditNote(state: String) throws {
        let source = MasterKeySource(stateDirectory: state, environment: [:])
        let sealer = try Sealer(try #require(try source.load()))
        let sealed = sealer.seal(version < 4 ? [] : Canary.text, for: Canary.row)
        let file = try FileConnection(path: path, access: .readWrite)
        try file.run("UPDATE canary SET sealed = ?", .blob(sealed))
        if version >= 4, version < migrations.steps.count { try forgetCounts(file, sealer) }
        try #require(truncate("\(state)/health.lock", 0) == 0)
    }

    /// Authenticates the head of the audit log as it was before it had counts of rows.
    private func forgetCounts(_ file: FileConnection, _ sealer: Sealer) throws {
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
        if let head { try file.run("UPDATE audit_head SET mac = ?", .blob(head.mac(sealer))) }
    }

    /// The version in which the samples of a batch share the batch's state.
    private static var sharedStates: Int {
        get throws {
            try #require(HealthSchema.migrations.steps.firstIndex(of: HealthVersions.batched)) + 1
        }
    }

    /// The state of a sample as it was written before that.
    private static let ownState = """
        iif(state = 'batched', (SELECT state FROM present.batches WHERE id = batch_id), state)
        """

    /// The tables that a later version drops.
    private static let dropped = ["decisions", "decision_runs", "origins"]

    /// Returns the tables that have fewer rows than before. The job records contain the former
    /// clocks.
    func lost() throws -> [String] {
        let file = try FileConnection(path: path, access: .readWrite)
        let version = try file.first("PRAGMA user_version") { Int($0.integer(0)) }
        var lost = version == migrations.steps.count ? [] : ["it has version \(version ?? -1)"]
        for (table, count) in counts where !FormerFile.dropped.contains(table) {
            let now = try FormerFile.count(table == "job_clocks" ? "job_records" : table, file)
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

/// Converts both state files to earlier versions, with their rows.
func makeFormerFiles(state: String, history: Int, health: Int) throws {
    _ = try FormerFile("\(state)/history.db", historyMigrations, history)
    try makeFormerHealthFile(state: state, version: health)
}

/// Converts the health data to an earlier version, with its rows.
func makeFormerHealthFile(state: String, version: Int) throws {
    try FormerFile("\(state)/health.db", HealthSchema.migrations, version)
        .forgetAuditNote(state: state)
}
