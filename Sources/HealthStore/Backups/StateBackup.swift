public import ClarityScheduler
public import Platform
@preconcurrency import Glibc
package import Database

/// Backs up a state directory's databases, and the job file, while other processes use them.
///
/// Each file is copied in one consistent state, encrypted as it is; a backup never contains the
/// master key. It contains an account's own key as it is stored, which the master key opens. The two copies may be some milliseconds apart. Nothing depends on that: a kill
/// between two writes leaves the same difference, such as a run in one file without its samples in
/// the other.
public struct StateBackup {
    /// The backup that was made.
    public struct Receipt: Sendable {
        public let backup: Backup
        /// Where the key of the backup is now, in words; `nil` without health data.
        public let keyPlace: String?

        /// Whether the backup has the account's own key, which the one in `keyPlace` wraps.
        public var hasOwnKey: Bool { backup.manifest.has(MasterKeySource.ownName) }
    }

    private let directory: String
    private let jobFile: String?
    private let environment: [String: String]
    private let forms: StateForms
    private let actor: AuditActor
    private let clock: any WallClock

    /// Prepares a backup of a state directory.
    ///
    /// - Parameters:
    ///   - jobFile: the text of the job file, which the backup gets too.
    ///   - environment: the environment for opening the health data.
    ///   - forms: the newest schema of each file that this program knows.
    public init(
        stateDirectory: String, jobFile: String? = nil, environment: [String: String],
        forms: StateForms, actor: AuditActor, clock: any WallClock
    ) {
        self.forms = forms
        directory = stateDirectory
        self.jobFile = jobFile
        self.environment = environment
        self.actor = actor
        self.clock = clock
    }

    /// Makes the backup.
    ///
    /// - Parameters:
    ///   - folder: the target folder; `nil` for the state directory's own one.
    ///   - keep: how many requested backups stay in that folder, at least 1.
    /// - Returns: `nil` if the state directory holds no data yet.
    /// - Throws: `HealthStoreError` as for opening the health data, `damaged` for an inconsistent
    ///   file, `BackupError` if the folder cannot be written. No partial backup remains then.
    public func make(in folder: BackupFolder?, keep: Int) throws -> Receipt? {
        guard access(directory, F_OK) == 0 else { return nil }
        let share = try StateDirectory(path: directory).share()
        defer { withExtendedLifetime(share) {} }
        let history = "\(directory)/history.db"
        let store =
            HealthStore.exists(in: directory, environment: [:])
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
            sizeBytes: try files.reduce(0) { try $0 + $1.sizeBytes() }, keep: keep,
            jobFile: jobFile
        ) { draft in
            let copies = try files.map {
                ($0.name, try $0.copy(to: "\(draft)/\($0.name)", form: forms[$0.name]))
            }
            return try copies + (store == nil ? [] : WrappedKey.copy(from: directory, to: draft))
        } beforeCommit: { _ in
            // Recorded before the backup becomes visible: no backup may exist that the log does not
            // mention.
            try store?.audit.record(
                .backedUp, try store?.storedCounts() ?? [:],
                detail: isOwn ? "in the state directory" : "in another folder")
        }
        return Receipt(backup: backup, keyPlace: try store.map { _ in try keyPlace() })
    }

    private func keyPlace() throws -> String {
        let source = MasterKeySource(stateDirectory: directory, environment: environment)
        return try source.find()?.place.description ?? "no place"
    }
}

/// A database file of the state directory that can be copied.
struct StateFile {
    let path: String

    var name: String { path.split(separator: "/").last.map(String.init) ?? path }

    /// Returns whether the file exists and is not empty.
    ///
    /// - Throws: `HealthStoreError.foreignFile` for a link, another user's file, or no regular
    ///   file.
    static func isThere(_ path: String) throws(HealthStoreError) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return false }
        if let problem = ownershipProblem(of: status, owners: [geteuid()]) {
            throw .foreignFile(path: path, problem: problem)
        }
        return status.st_size > 0
    }

    func sizeBytes() throws(HealthStoreError) -> Int64 {
        try HealthStore.describing(path) { try connection().sizeBytes() }
    }

    /// Copies the file to a new file and returns the version of its schema.
    func copy(to target: String, form: SchemaForm?) throws -> Int {
        try DurableFile.make(target)
        return try HealthStore.describing(path) {
            try connection().writeCopy(to: target, form: form)
        }
    }

    /// Opened for writing, so that the last process to close it removes the log; nothing is
    /// written.
    private func connection() throws(DatabaseError) -> FileConnection {
        try FileConnection(path: path, access: .readWrite)
    }
}

extension HealthStore {
    /// Returns the number of samples, metrics and insights in the file, for the audit log.
    func storedCounts() throws(HealthStoreError) -> [String: Int64] {
        try access { connection in
            var counts: [String: Int64] = [:]
            for (table, name) in [
                ("outbox", "samples"), ("metrics", "metrics"), ("insights", "insights"),
            ] {
                let count = try connection.integer("SELECT count(*) FROM \(table)")
                counts[name] = count ?? 0
            }
            return counts
        }
    }
}

/// The newest schema of each state file that this program knows.
///
/// The module that owns the history knows its schema and passes it in.
public struct StateForms: Sendable {
    private let forms: [String: SchemaForm]

    /// Creates them from the history's schema.
    package init(history: SchemaForm) throws(HealthStoreError) {
        do throws(DatabaseError) {
            forms = ["history.db": history, "health.db": try HealthSchema.migrations.form()]
        } catch {
            throw HealthStore.described(error, ":memory:")
        }
    }

    /// The schema of the file with this name; `nil` if the file is not one of ours.
    subscript(name: String) -> SchemaForm? { forms[name] }
}
