public import ClarityScheduler
public import Platform
@preconcurrency import Glibc

/// Restores the databases of a state directory from a backup.
///
/// It checks and prepares everything beside the files first. Then it replaces all of the files or
/// none (`Replacement`), and keeps the old ones. No other process uses the state directory
/// meanwhile.
public struct StateRestore {
    /// How the backend treats a repeated sample, and what the user wants to happen then.
    public struct Doubling: Hashable, Sendable {
        /// Whether the backend could store both copies.
        public var isPossible: Bool
        /// Whether samples in doubt stay on hold until a person decides.
        public var isHeld: Bool

        /// Creates the pair.
        public init(isPossible: Bool, isHeld: Bool) {
            (self.isPossible, self.isHeld) = (isPossible, isHeld)
        }
    }

    /// A file to restore, its backup, and the reason.
    public struct Item: Sendable {
        public let file: BackupManifest.File
        public let backup: Backup
        /// The fault of the present file; `nil` if it has none.
        public let fault: String?
    }

    /// A damaged or missing file without an intact backup.
    public struct Lost: Sendable {
        public let name: String
        /// The fault of the present file.
        public let fault: String
    }

    /// What a restore did, or a dry run would do.
    public struct Report: Sendable {
        public var items: [Item] = []
        /// The folder with the replaced files.
        public var aside: String?
        /// Whether this call only finishes an interrupted restore, or would do so in a dry run.
        public var isResumed = false
        /// The files that the interrupted restore had not yet put in place.
        public var pending: [String] = []
        /// The backup that was named but not used, because an interrupted restore had to be
        /// finished first.
        public var untaken: String?
        /// The result for the health data; `nil` if that was not restored.
        public var health: HealthSettling?
        /// Backups that were passed over, and why.
        public var passedOver: [String] = []
        /// Damaged or missing files without an intact backup; they stay as they are.
        public var lost: [Lost] = []
    }

    private let directory: String
    private let environment: [String: String]
    private let actor: AuditActor
    private let clock: any WallClock
    private let forms: StateForms
    private let doubling: (HealthStore) throws -> Doubling
    /// How long to wait for other processes.
    var patience = StoreLock.patience

    /// Prepares a restore.
    ///
    /// - Parameters:
    ///   - environment: the environment for opening the health data.
    ///   - forms: the newest schema of each file that this program knows.
    ///   - doubling: called with the restored health data, which may know the backend.
    public init(
        stateDirectory: String, environment: [String: String], forms: StateForms,
        actor: AuditActor, clock: any WallClock,
        doubling: @escaping (HealthStore) throws -> Doubling
    ) {
        directory = stateDirectory
        self.environment = environment
        self.forms = forms
        self.doubling = doubling
        self.actor = actor
        self.clock = clock
    }

    /// Restores damaged or missing files, or everything in the backup at a path.
    ///
    /// If a restore was interrupted, it finishes that one and does nothing else: a decision once
    /// made is not undone half-way.
    ///
    /// - Parameter isDryRun: whether to check and prepare everything and then discard it.
    /// - Throws: `RestoreError`, `BackupError` for a damaged backup or a full disk,
    ///   `HealthStoreError`. Nothing has changed then, except after the decision; the same call
    ///   then finishes the restore.
    public func run(_ path: String?, isDryRun: Bool = false) throws -> Report {
        let state = try StateDirectory(path: directory)
        guard let alone = try state.alone(patience: patience) else {
            throw RestoreError.inUse(path: directory)
        }
        defer { withExtendedLifetime(alone) {} }
        let file = HealthFile(in: directory)
        try file.checkFiles()
        let lock = try healthLock(file)
        defer { withExtendedLifetime(lock) {} }
        let replacement = Replacement(in: directory)
        var report = Report()
        if replacement.isBegun {
            report.isResumed = true
            report.pending = try replacement.pending()
            report.untaken = path.map { $0.split(separator: "/").last.map(String.init) ?? $0 }
            if !isDryRun { report.aside = try finish(replacement) }
            return report
        }
        let plan = RestorePlan(directory: directory, forms: forms) { backup in
            try key(of: backup)?.identifier()
        } keyPlace: {
            try keyPlace()
        }
        report = try plan.find(try path.map { try Backup(at: $0) })
        let draft = try replacement.makeDraft()
        do {
            for item in report.items {
                try item.backup.copy(item.file, to: "\(draft)/\(item.file.name)")
                try plan.require(item, at: "\(draft)/\(item.file.name)")
            }
            report.health = try settle(report.items, in: draft)
            if isDryRun {
                try replacement.removeDraft()
                return report
            }
            let stamp = Instant(secondsSince1970: clock.now.secondsSince1970).description
            try replacement.commit(
                aside: replacement.freeAside(stamp.filter { $0 != "-" && $0 != ":" }))
        } catch {
            // The first error is the one that matters; the next restore tries to remove the draft
            // again.
            do throws(BackupError) { try replacement.removeDraft() } catch _ {}
            throw error
        }
        report.aside = try finish(replacement)
        return report
    }

    /// Puts the files in place.
    private func finish(_ replacement: Replacement) throws -> String? {
        // The restored files may contain a session, for which runs wait. If they contain none, the
        // next run removes the mark.
        try StateDirectory.markLogin(in: directory)
        return try replacement.finish()
    }

    private func healthLock(_ file: HealthFile) throws -> StoreLock {
        do throws(HealthStoreError) {
            return try StoreLock.alone(of: file, patience: patience)
        } catch {
            guard case .rotation(.inUse, _) = error else { throw error }
            throw RestoreError.inUse(path: directory)
        }
    }

    /// Records the restore in the restored health data, and carries over what the present file
    /// still has.
    private func settle(_ items: [Item], in draft: String) throws -> HealthSettling? {
        let name = "health.db"
        guard let item = items.first(where: { $0.file.name == name }) else { return nil }
        guard let key = try key(of: item.backup) else {
            throw RestoreError.lostKey(
                backup: item.backup.name, wanted: item.backup.manifest.key ?? "",
                place: try keyPlace())
        }
        let present = "\(draft)/present.db"
        let isThere = try item.fault == nil && StateFile.isThere("\(directory)/\(name)")
        if isThere {
            _ = try StateFile(path: "\(directory)/\(name)").copy(to: present, form: forms[name])
        }
        let settling = try HealthRestore(
            path: "\(draft)/\(name)", present: isThere ? present : nil, key: key,
            backup: item.backup, doubling: doubling, actor: actor, clock: clock
        ).settle()
        if let found = try source.find(), (try ownKey() ?? found.key).bytes != key.bytes {
            _ = try KeyFile.make(
                "\(draft)/\(MasterKeySource.ownName)", WrappedKey(key, by: found.key).bytes)
        }
        for suffix in ["", "-wal", "-shm"] where unlink(present + suffix) != 0 && errno != ENOENT {
            throw BackupError.file(path: present + suffix, errno: errno)
        }
        return settling
    }

    /// Where the key is, or is looked for at last.
    private func keyPlace() throws -> String {
        let place = try source.find()?.place ?? .file(path: source.path)
        return place.description
    }

    private var source: MasterKeySource {
        MasterKeySource(stateDirectory: directory, environment: environment)
    }

    /// Returns the key of a backup: that of the present health data, if there is any, or else the
    /// one of which the backup says that it is its key. `nil` if there is none.
    ///
    /// Without health data, an account's own key may be missing, or be that of data that was lost
    /// before it began; the backup has its own.
    private func key(of backup: Backup) throws -> MasterKey? {
        guard let given = try source.find()?.key else { return nil }
        let present = try ownKey()
        let isThere = try StateFile.isThere(HealthFile(in: directory).path)
        if let present, isThere { return present }
        let stored = try WrappedKey(of: backup)?.opened(by: given, at: backup.path)
        let candidates = [present, stored, given].compactMap(\.self)
        return try candidates.first { try $0.identifier() == backup.manifest.key }
            ?? candidates.first
    }

    /// Returns the account's own key; `nil` if it has none, or the one that is there does not open.
    private func ownKey() throws(MasterKeyError) -> MasterKey? {
        guard let given = try source.find()?.key else { return nil }
        do throws(MasterKeyError) {
            return try WrappedKey(at: source.ownPath)?.opened(by: given, at: source.ownPath)
        } catch .wrapped {
            return nil
        }
    }
}

/// Why a state directory was not restored; nothing has changed then.
public enum RestoreError: Error, Hashable, Sendable {
    /// The folder has no usable backup.
    case noBackup(folder: String)
    /// No file is damaged or missing, and no backup was named.
    case nothingDamaged
    /// Other processes use the state directory.
    case inUse(path: String)
    /// The backup is encrypted with another master key; carries the identifiers of both keys.
    case otherKey(backup: String, wanted: String, present: String, place: String)
    /// There is no master key; carries the identifier of that of the backup, and where it must be.
    case lostKey(backup: String, wanted: String, place: String)
    /// A file of the backup was written by a newer version.
    case newer(backup: String, file: String, found: Int, known: Int)
    /// A file of the backup was written before 0.1.0.
    case older(backup: String, file: String)
    /// A present file was written by a newer version, and no backup was named to replace it.
    case newerFile(path: String, found: Int, known: Int)
    /// The backup and the present files belong to different users.
    case otherUser(backup: String)
}

extension RestoreError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noBackup(let folder): "there is no backup in `\(folder)` that could be restored"
        case .nothingDamaged:
            "no file is damaged or missing; name a backup to go back to what it has"
        case .inUse(let path):
            "`\(path)` is in use by other processes; try again when they have ended, or stop the "
                + "loop meanwhile"
        case .otherKey(let backup, let wanted, let present, let place):
            "the backup `\(backup)` is encrypted with the master key \(wanted), and the present key "
                + "is \(present); put the older key into \(place) first"
        case .lostKey(let backup, let wanted, let place):
            "the backup `\(backup)` is encrypted with the master key \(wanted), and there is none "
                + "here; put that key into \(place), or set `CLARITY_JOBS_KEY`"
        case .newer(let backup, let file, let found, let known):
            "`\(file)` of the backup `\(backup)` has version \(found), this program knows \(known); "
                + "use a newer clarity-jobs"
        case .older(let backup, let file):
            "`\(file)` of the backup `\(backup)` was written before 0.1.0: restore it with clarity-jobs "
                + "0.1.0 and open it once, then use this version"
        case .newerFile(let path, let found, let known):
            "`\(path)` has version \(found), this program knows \(known); use a newer clarity-jobs, "
                + "or name a backup of before it to go back to"
        case .otherUser(let backup):
            "the backup `\(backup)` belongs to another user; give this one a state directory of "
                + "its own"
        }
    }
}
