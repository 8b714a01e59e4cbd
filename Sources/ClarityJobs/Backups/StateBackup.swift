public import ClarityScheduler
public import ClaritySystem
@preconcurrency import Glibc
import SQLite

/// Makes a backup of a state directory's databases while others work with them.
///
/// Each file is copied in one state of it, as sealed as it is; the master key is never in a backup.
/// The two may be some milliseconds apart, which nothing depends on: a run that the one knows and a
/// sample that the other does not are what a kill between the two would have left.
public struct StateBackup {
    /// What was made.
    public struct Receipt: Sendable {
        public let backup: Backup
        /// Where the key that opens it is now, in words; `nil` without health data.
        public let keyPlace: String?
    }

    private let directory: String
    private let environment: [String: String]
    private let forms: StateForms
    private let actor: AuditActor
    private let clock: any WallClock

    /// Prepares a backup of a state directory; `environment` as for opening the health data, `forms`
    /// the newest schema of each file that this program knows.
    public init(
        stateDirectory: String, environment: [String: String], forms: StateForms,
        actor: AuditActor, clock: any WallClock
    ) {
        self.forms = forms
        directory = stateDirectory
        self.environment = environment
        self.actor = actor
        self.clock = clock
    }

    /// Makes it.
    ///
    /// - Parameters:
    ///   - folder: where; `nil` for the state directory's own place.
    ///   - keep: how many that were asked for stay there, at least 1.
    /// - Returns: `nil` when nothing was ever kept.
    /// - Throws: `HealthStoreError` as opening the health data, `damaged` for a file that does not
    ///   hold together, `BackupError` for what a folder refuses. Nothing is left of the backup then.
    public func make(in folder: BackupFolder?, keep: Int) throws -> Receipt? {
        guard access(directory, F_OK) == 0 else { return nil }
        let share = try StateDirectory(path: directory).share()
        defer { withExtendedLifetime(share) {} }
        let history = "\(directory)/history.db"
        let store =
            HealthStore.exists(in: directory)
            ? try HealthStore(
                stateDirectory: directory, environment: environment, actor: actor, clock: clock)
            : nil
        var files: [StateFile] = []
        if try StateFile.isThere(history) { files.append(StateFile(path: history)) }
        if store != nil { files.append(StateFile(path: HealthFile(in: directory).path)) }
        guard !files.isEmpty else { return nil }
        let isOwn = folder == nil
        let backup = try (folder ?? BackupFolder(ofState: directory)).make(
            .asked, at: clock.now, key: store?.keyID,
            sizeBytes: try files.reduce(0) { try $0 + $1.sizeBytes() }, keep: keep
        ) { draft in
            try files.map { try $0.copy(into: draft, form: forms[$0.name]) }
        } beforeCommit: { _ in
            // Before it can be seen: a copy of which the log says nothing must not be.
            try store?.record(
                .backedUp, try store?.keptCounts() ?? [:],
                detail: isOwn ? "in the state directory" : "in another folder")
        }
        return Receipt(backup: backup, keyPlace: try store.map { _ in try keyPlace() })
    }

    private func keyPlace() throws -> String {
        let source = MasterKeySource(stateDirectory: directory, environment: environment)
        return try source.find()?.place.description ?? "no place"
    }
}

/// A database of the state directory as a file to copy.
struct StateFile {
    let path: String

    var name: String { path.split(separator: "/").last.map(String.init) ?? path }

    /// Whether there is such a file, with something in it.
    ///
    /// - Throws: `HealthStoreError.foreignFile` for a link, another user's file, or what is none.
    static func isThere(_ path: String) throws(HealthStoreError) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return false }
        if let problem = ownershipProblem(of: status, owners: [geteuid()]) {
            throw .foreignFile(path: path, problem: problem)
        }
        return status.st_size > 0
    }

    func sizeBytes() throws(HealthStoreError) -> Int64 {
        try asking { () throws(SQLiteError) in try connection().sizeBytes() }
    }

    /// Copies it into a folder.
    func copy(into folder: String, form: SchemaForm?) throws -> (name: String, version: Int) {
        (name, try copy(to: "\(folder)/\(name)", form: form))
    }

    /// Copies it to a new file, and returns the version of its schema.
    func copy(to target: String, form: SchemaForm?) throws -> Int {
        try DurableFile.make(target)
        return try asking { () throws(SQLiteError) in
            try connection().writeCopy(to: target, form: form)
        }
    }

    /// For writing, so that the last who closes it leaves no log beside it; nothing is written.
    private func connection() throws(SQLiteError) -> Connection {
        try Connection(path: path, access: .readWrite)
    }

    private func asking<Result>(
        _ body: () throws(SQLiteError) -> Result
    ) throws(HealthStoreError) -> Result {
        do throws(SQLiteError) {
            return try body()
        } catch {
            throw HealthStore.described(error, path)
        }
    }
}

extension HealthStore {
    /// How many of what the file keeps, for the audit log.
    func keptCounts() throws(HealthStoreError) -> [String: Int64] {
        try access { connection in
            var counts: [String: Int64] = [:]
            for (table, name) in [
                ("outbox", "samples"), ("metrics", "metrics"), ("insights", "insights"),
            ] {
                let count = try connection.first("SELECT count(*) FROM \(table)") { $0.integer(0) }
                counts[name] = count ?? 0
            }
            return counts
        }
    }
}
