public import ClarityScheduler
public import ClaritySystem
@preconcurrency import Glibc
import SQLite

/// Puts the databases of a state directory back to what a backup has.
///
/// Everything is checked and made ready beside the files first; then they change places, all of them
/// or none (`Replacement`). What was there is kept. Nobody else uses the state directory meanwhile.
public struct StateRestore {
    /// What the backend does with a sample that comes twice, and what is wanted then.
    public struct Doubling: Hashable, Sendable {
        /// Whether it could keep both.
        public var isPossible: Bool
        /// Whether samples that may have been sent wait for a person.
        public var isHeld: Bool

        /// Says what it does.
        public init(isPossible: Bool, isHeld: Bool) {
            (self.isPossible, self.isHeld) = (isPossible, isHeld)
        }
    }

    /// What is put back, and why.
    public struct Item: Sendable {
        public let file: BackupManifest.File
        public let backup: Backup
        /// What is wrong with the file that is there; `nil` when nothing is.
        public let fault: String?
    }

    /// A file that nothing can be put back for.
    public struct Lost: Sendable {
        public let name: String
        /// What is wrong with it.
        public let fault: String
    }

    /// What was done, or would be.
    public struct Report: Sendable {
        public var items: [Item] = []
        /// Where what was there is now.
        public var aside: String?
        /// Whether a restore that was cut short was finished, or would be, and nothing else done.
        public var isResumed = false
        /// The files that it had not put in their place yet.
        public var pending: [String] = []
        /// The backup that was named and not taken, since there was that to finish first.
        public var untaken: String?
        /// What became of the health data; `nil` where none was put back.
        public var health: HealthSettling?
        /// Backups that were passed over, and why.
        public var passedOver: [String] = []
        /// Damaged or missing files that no sound backup has; they stay as they are.
        public var lost: [Lost] = []
    }

    private let directory: String
    private let environment: [String: String]
    private let actor: AuditActor
    private let clock: any WallClock
    private let forms: StateForms
    private let doubling: (HealthStore) throws -> Doubling
    /// How long others are waited for.
    var patience = StoreLock.patience

    /// Prepares a restore; `environment` as for opening the health data.
    ///
    /// - Parameters:
    ///   - forms: the newest schema of each file that this program knows.
    ///   - doubling: asked of the health data that is put back, which may know the backend.
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

    /// Puts back what is damaged or missing, or all that the backup at a path has.
    ///
    /// Where a restore was cut short that one is finished and nothing else is done: what it had
    /// decided is not undone half-way.
    ///
    /// - Parameter isRehearsal: whether everything is only checked and made ready, and then given up.
    /// - Throws: `RestoreError`, `BackupError` for a damaged backup or a full disk, `HealthStoreError`;
    ///   nothing has changed then, but after the decision, when the same call finishes it.
    public func run(_ path: String?, isRehearsal: Bool = false) throws -> Report {
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
            if !isRehearsal { report.aside = try finish(replacement) }
            return report
        }
        let plan = RestorePlan(
            directory: directory, forms: forms, keyID: keyID)
        let finding = try plan.find(try path.map { try Backup(at: $0) })
        report.items = finding.items
        report.passedOver = finding.passedOver
        report.lost = finding.lost
        let draft = try replacement.makeDraft()
        do {
            for item in report.items {
                try item.backup.copy(item.file, to: "\(draft)/\(item.file.name)")
                try plan.demand(item, at: "\(draft)/\(item.file.name)")
            }
            report.health = try settle(report.items, in: draft)
            if isRehearsal {
                try replacement.removeDraft()
                return report
            }
            let stamp = Instant(secondsSince1970: clock.now.secondsSince1970).description
            try replacement.commit(
                aside: replacement.freeAside(stamp.filter { $0 != "-" && $0 != ":" }))
        } catch {
            // The first error is the one that matters; the next restore tries again to remove it.
            do throws(BackupError) { try replacement.removeDraft() } catch _ {}
            throw error
        }
        report.aside = try finish(replacement)
        return report
    }

    /// Puts the files in place.
    private func finish(_ replacement: Replacement) throws -> String? {
        // With them a session may come back, for which runs wait; where none does, the next run
        // removes the mark.
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

    /// Has the health data that is put back say so, and carries over what the present file still tells.
    private func settle(_ items: [Item], in draft: String) throws -> HealthSettling? {
        let name = "health.db"
        guard let item = items.first(where: { $0.file.name == name }) else { return nil }
        guard let key = try key() else { throw HealthStoreError.lostKey(path: item.backup.path) }
        let present = "\(draft)/present.db"
        let isThere = try item.fault == nil && StateFile.isThere("\(directory)/\(name)")
        if isThere {
            _ = try StateFile(path: "\(directory)/\(name)").copy(to: present, form: forms[name])
        }
        let settling = try HealthRestore(
            path: "\(draft)/\(name)", present: isThere ? present : nil, key: key,
            backup: item.backup, doubling: doubling, actor: actor, clock: clock
        ).settle()
        for suffix in ["", "-wal", "-shm"] where unlink(present + suffix) != 0 && errno != ENOENT {
            throw BackupError.file(path: present + suffix, errno: errno)
        }
        return settling
    }

    private func key() throws -> MasterKey? {
        try MasterKeySource(stateDirectory: directory, environment: environment).load()
    }

    private func keyID() throws -> String? { try key()?.identifier() }
}
