public import ClarityScheduler
@preconcurrency import Glibc

/// A folder of backups, each in a subfolder named after the time at which it was made.
///
/// A backup appears completely or not at all: it is written under a name that begins with a dot,
/// synced, and renamed. One process at a time makes or removes backups in the folder (flock(2) on
/// the folder).
public struct BackupFolder: Sendable {
    /// The default number of requested backups to keep.
    public static let keptAsked = 7
    /// The number of backups before a migration to keep.
    public static let keptBeforeMigration = 4

    public let path: String
    /// Whether this is the state directory's own folder, which only its owner may access.
    private let isOwn: Bool
    /// How long to wait for another process that is making a backup.
    var patience = Duration.seconds(120)

    /// Creates the folder for a state directory's own backups.
    public init(ofState directory: String) {
        path = "\(directory)/backups"
        isOwn = true
    }

    /// Creates a folder that the user names.
    public init(at path: String) {
        self.path = path
        isOwn = false
    }

    /// An entry of a folder of backups.
    public enum Entry: Sendable {
        case sound(Backup)
        case faulty(name: String, BackupError)

        /// The backup; `nil` if it is faulty.
        public var backup: Backup? {
            if case .sound(let backup) = self { return backup }
            return nil
        }
    }

    /// Returns all backups: the sound ones, newest first by their manifests, then the faulty ones.
    public func entries() throws(BackupError) -> [Entry] {
        var entries: [Entry] = []
        try check()
        for name in try DurableFile.names(in: path) where !name.hasPrefix(".") {
            do throws(BackupError) {
                entries.append(.sound(try Backup(at: "\(path)/\(name)")))
            } catch .unusable {
                // This is a file or folder that somebody else put there.
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
    ///   - sizeBytes: the approximate size of the backup. If less space is free, nothing is
    ///     written.
    ///   - keep: how many backups with the same reason are kept, including this one; at least 1. In
    ///     a folder that the user named, only backups with the same key count.
    ///   - jobFile: the text of the job file, of which the backup gets a copy.
    ///   - write: writes the files into the given folder, which has mode 0700, and returns their
    ///     names and versions. It need not sync them.
    ///   - beforeCommit: called when everything is on the disk and only the final rename is
    ///     missing.
    /// - Throws: `BackupError`, and what the closures throw; then the backup is removed.
    public func make(
        _ reason: BackupManifest.Reason, at now: Instant, key: String?, sizeBytes: Int64,
        keep: Int, jobFile: String? = nil, write: (String) throws -> [(name: String, version: Int)],
        beforeCommit: (BackupManifest) throws -> Void = { _ in }
    ) throws -> Backup {
        try prepare()
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        try removeDrafts()
        try requireRoom(for: sizeBytes)
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
            var manifest = BackupManifest(
                madeAt: now, reason: reason, program: programVersion, key: key, files: files)
            if let jobFile {
                try DurableFile.write(jobFile, to: "\(draft)/\(Backup.jobFileName)")
                manifest.jobFile = SHA256.hex(of: jobFile.utf8)
            }
            try DurableFile.write(manifest.text, to: "\(draft)/\(Backup.manifestName)")
            try DurableFile.sync(draft)
            try beforeCommit(manifest)
            try DurableFile.rename(draft, to: "\(path)/\(name)")
        } catch {
            // The first error is the important one. The next backup tries again to remove the
            // draft.
            do throws(BackupError) { try DurableFile.removeFolder(draft) } catch _ {}
            throw error
        }
        try DurableFile.syncNames(in: path)
        let backup = try Backup(at: "\(path)/\(name)")
        try prune(besides: backup, keep: keep)
        return backup
    }

    /// Backs up a database of a state directory before its schema changes; called while nobody else
    /// writes.
    ///
    /// - Parameters:
    ///   - sizeBytes: how large the database is.
    ///   - key: the identifier of the key that encrypts it; `nil` if none does.
    ///   - others: writes what belongs to it into the given folder, as `write` of `make` does.
    ///   - copy: writes the database into the given file and returns the version of its schema.
    /// - Throws: `BackupError`, and what `others` and `copy` throw; the schema then stays as it is.
    public static func makeBeforeMigration(
        of path: String, sizeBytes: Int64, key: String? = nil,
        with others: (String) throws -> [(name: String, version: Int)] = { _ in [] },
        copy: (String) throws -> Int
    ) throws {
        let end = path.lastIndex(of: "/") ?? path.startIndex
        let name = String(path[end...].drop { $0 == "/" })
        _ = try BackupFolder(ofState: String(path[..<end])).make(
            .beforeMigration, at: SystemClock().now, key: key, sizeBytes: sizeBytes,
            keep: keptBeforeMigration
        ) { folder in
            let file = "\(folder)/\(name)"
            try DurableFile.make(file)
            return try [(name, copy(file))] + others(folder)
        }
    }

    /// Removes every backup in the folder.
    ///
    /// - Returns: the number of backups removed.
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

    private func lock() throws(BackupError) -> FileLock {
        let lock: FileLock?
        do throws(SystemError) {
            lock = try FileLock.take(path, LOCK_EX, patience: patience)
        } catch {
            throw .file(path: path, errno: error.code)
        }
        guard let lock else { throw .busy(path: path) }
        return lock
    }

    /// Creates the folder if it does not exist, and gives the state directory's own mode 0700.
    private func prepare() throws(BackupError) {
        guard StateDirectory.makeFolders(path) else { throw .file(path: path, errno: errno) }
        try check()
        if isOwn, chmod(path, 0o700) != 0 { throw .file(path: path, errno: errno) }
    }

    /// Checks that the folder may be used.
    private func check() throws(BackupError) {
        guard let status = try DurableFile.status(of: path) else { return }
        guard isOwn else {
            // A folder that the user chose may be a link.
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

    private func requireRoom(for sizeBytes: Int64) throws(BackupError) {
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

    /// Returns an unused name such as `20261120T060000Z`, with a number appended if it is taken.
    private func freeName(at now: Instant) throws(BackupError) -> String {
        let second = Instant(secondsSince1970: now.secondsSince1970).description
        return try DurableFile.freeName(second.filter { $0 != "-" && $0 != ":" }, in: path)
    }

    /// Removes the drafts of killed processes; nobody else writes one while the lock is held.
    private func removeDrafts() throws(BackupError) {
        for name in try DurableFile.names(in: path) where name.hasPrefix(BackupFolder.draftMark) {
            try DurableFile.removeFolder("\(path)/\(name)")
        }
    }

    /// Removes the oldest backups with the same reason until `keep` are left.
    ///
    /// The backup just made is one of them, whatever the clock said when the others were made. In a
    /// folder that the user named, another machine may keep its own backups, under another key.
    private func prune(besides made: Backup, keep: Int) throws(BackupError) {
        let others = try entries().compactMap(\.backup).filter {
            $0.name != made.name && $0.manifest.reason == made.manifest.reason
                && (isOwn || $0.manifest.key == made.manifest.key)
        }
        for backup in others.dropFirst(max(1, keep) - 1) { try remove(backup.name) }
    }

    /// Renames the backup first, so that nobody mistakes a half-removed backup for a whole one.
    private func remove(_ name: String) throws(BackupError) {
        let draft = "\(path)/\(BackupFolder.draftMark)\(name)"
        try DurableFile.rename("\(path)/\(name)", to: draft)
        try DurableFile.removeFolder(draft)
    }
}
