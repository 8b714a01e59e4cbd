public import ClarityScheduler
@preconcurrency import Glibc

/// A folder in which backups lie, each in a folder of its own that is named by its instant.
///
/// A backup appears whole or not at all: it is written under a name that begins with a dot, synced,
/// and renamed. One process at a time makes or removes backups in it (flock(2) on the folder).
public struct BackupFolder: Sendable {
    /// How many backups that were asked for stay, unless it is said otherwise.
    public static let keptAsked = 7
    /// How many backups of before a migration stay.
    public static let keptBeforeMigration = 4

    public let path: String
    /// Whether it is the state directory's own, and so nobody else's business.
    private let isOwn: Bool
    /// How long another process is waited for that makes a backup.
    var patience = Duration.seconds(120)

    /// The folder for a state directory's own backups.
    public init(ofState directory: String) {
        path = "\(directory)/backups"
        isOwn = true
    }

    /// A folder that a person names.
    public init(at path: String) {
        self.path = path
        isOwn = false
    }

    /// What a folder holds.
    public enum Entry: Sendable {
        case sound(Backup)
        case faulty(name: String, BackupError)

        /// The backup, unless it is faulty.
        public var backup: Backup? {
            if case .sound(let backup) = self { return backup }
            return nil
        }
    }

    /// All backups, newest first, as far as their manifests tell; those that are no more than a
    /// folder's name last.
    public func entries() throws(BackupError) -> [Entry] {
        var entries: [Entry] = []
        try check()
        for name in try DurableFile.names(in: path) where !name.hasPrefix(".") {
            do throws(BackupError) {
                entries.append(.sound(try Backup(at: "\(path)/\(name)")))
            } catch .unusable {
                // Somebody's own file or folder.
            } catch {
                entries.append(.faulty(name: name, error))
            }
        }
        return entries.sorted { one, other in
            switch (one.backup, other.backup) {
            case (let one?, let other?):
                (one.manifest.madeAt, one.name) > (other.manifest.madeAt, other.name)
            case (let one, _): one != nil
            }
        }
    }

    /// Makes a backup.
    ///
    /// - Parameters:
    ///   - sizeBytes: about how much it will be; less room than that is refused before anything is
    ///     written.
    ///   - keep: how many of the same reason stay, this one included, at least 1; in a folder that
    ///     a person named, how many of the same key as well.
    ///   - write: writes the files into the folder that it gets, of mode 0700, and says what they
    ///     are; they need not be synced.
    ///   - beforeCommit: called when all is on the disk and only the name is missing.
    /// - Throws: `BackupError` and what `write` throws; nothing is left of the backup then.
    public func make(
        _ reason: BackupManifest.Reason, at now: Instant, key: String?, sizeBytes: Int64,
        keep: Int, write: (String) throws -> [(name: String, version: Int)],
        beforeCommit: (BackupManifest) throws -> Void = { _ in }
    ) throws -> Backup {
        try prepare()
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        try removeDrafts()
        try demandRoom(for: sizeBytes)
        let name = try freeName(at: now)
        let draft = "\(path)/\(BackupFolder.draftMark)\(name)"
        guard mkdir(draft, 0o700) == 0 else { throw BackupError.file(path: draft, errno: errno) }
        do {
            guard chmod(draft, 0o700) == 0 else {
                throw BackupError.file(path: draft, errno: errno)
            }
            var files: [BackupManifest.File] = []
            for (name, version) in try write(draft) {
                try DurableFile.sync("\(draft)/\(name)")
                let facts = try DurableFile.facts(of: "\(draft)/\(name)")
                files.append(
                    .init(
                        name: name, version: version, sizeBytes: facts.bytes, digest: facts.digest))
            }
            let manifest = BackupManifest(
                madeAt: now, reason: reason, program: programVersion, key: key, files: files)
            try DurableFile.write(manifest.text, to: "\(draft)/\(Backup.manifestName)")
            try DurableFile.sync(draft)
            try beforeCommit(manifest)
            try DurableFile.rename(draft, to: "\(path)/\(name)")
        } catch {
            // The first error is the one that matters; the next backup tries again to remove it.
            do throws(BackupError) { try DurableFile.removeFolder(draft) } catch _ {}
            throw error
        }
        try DurableFile.syncNames(in: path)
        let backup = try Backup(at: "\(path)/\(name)")
        try prune(besides: backup, keep: keep)
        return backup
    }

    /// Removes every backup in it.
    ///
    /// - Returns: how many there were.
    @discardableResult
    public func removeAll() throws(BackupError) -> Int {
        guard try DurableFile.status(of: path) != nil else { return 0 }
        try check()
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        try removeDrafts()
        var count = 0
        for entry in try entries() {
            let name =
                switch entry {
                case .sound(let backup): backup.name
                case .faulty(let name, _): name
                }
            try remove(name)
            count += 1
        }
        try DurableFile.syncNames(in: path)
        return count
    }

    // MARK: The folder

    private static let draftMark = ".draft-"

    private func lock() throws(BackupError) -> AdvisoryLock {
        let lock: AdvisoryLock?
        do throws(AdvisoryLock.Fault) {
            lock = try AdvisoryLock.take(path, LOCK_EX, patience: patience)
        } catch {
            throw .file(path: path, errno: error.errno)
        }
        guard let lock else { throw .busy(path: path) }
        return lock
    }

    /// Makes the folder if need be, and closes the state directory's own to others.
    private func prepare() throws(BackupError) {
        var partial = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            partial += "/\(part)"
            guard mkdir(partial, 0o700) == 0 || errno == EEXIST else {
                throw .file(path: path, errno: errno)
            }
        }
        try check()
        if isOwn, chmod(path, 0o700) != 0 { throw .file(path: path, errno: errno) }
    }

    /// Looks whether the folder may be used.
    private func check() throws(BackupError) {
        guard let status = try DurableFile.status(of: path) else { return }
        guard isOwn else {
            // A person's own choice may be a link.
            var target = stat()
            guard stat(path, &target) == 0 else { throw .file(path: path, errno: errno) }
            guard target.st_mode & S_IFMT == S_IFDIR else {
                throw .unusable(path: path, problem: "it is no folder")
            }
            return
        }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: break
        case S_IFLNK: throw .unusable(path: path, problem: "it is a symbolic link")
        default: throw .unusable(path: path, problem: "it is no folder")
        }
        guard status.st_uid == geteuid() else {
            throw .unusable(path: path, problem: "it belongs to another user")
        }
    }

    private func demandRoom(for sizeBytes: Int64) throws(BackupError) {
        var disk = statvfs()
        guard statvfs(path, &disk) == 0 else { throw .file(path: path, errno: errno) }
        let free = Int64(
            clamping: UInt64(disk.f_bavail).multipliedReportingOverflow(
                by: UInt64(disk.f_frsize)
            ).partialValue)
        guard free >= sizeBytes else {
            throw .noRoom(path: path, wantedBytes: sizeBytes, freeBytes: free)
        }
    }

    /// `20261120T060000Z`, with a number behind it when there is one already.
    private func freeName(at now: Instant) throws(BackupError) -> String {
        let second = Instant(secondsSince1970: now.secondsSince1970).description
        let base = String(second.filter { $0 != "-" && $0 != ":" })
        var name = base
        var number = 1
        while try DurableFile.status(of: "\(path)/\(name)") != nil {
            number += 1
            name = "\(base)-\(number)"
        }
        return name
    }

    /// Removes what a killed process has begun; nobody else is at it while the lock is held.
    private func removeDrafts() throws(BackupError) {
        for name in try DurableFile.names(in: path) where name.hasPrefix(BackupFolder.draftMark) {
            try DurableFile.removeFolder("\(path)/\(name)")
        }
    }

    /// Removes the oldest of the same reason but for `keep`, of which the one just made is one,
    /// whatever the clock said when the others were made.
    ///
    /// In a folder that a person named another machine may keep its own, under another key.
    private func prune(besides made: Backup, keep: Int) throws(BackupError) {
        let others = try entries().compactMap(\.backup).filter {
            $0.name != made.name && $0.manifest.reason == made.manifest.reason
                && (isOwn || $0.manifest.key == made.manifest.key)
        }
        for backup in others.dropFirst(max(1, keep) - 1) { try remove(backup.name) }
    }

    /// Takes the name away first, so that half a backup is never taken for one.
    private func remove(_ name: String) throws(BackupError) {
        let draft = "\(path)/\(BackupFolder.draftMark)\(name)"
        try DurableFile.rename("\(path)/\(name)", to: draft)
        try DurableFile.removeFolder(draft)
    }
}
