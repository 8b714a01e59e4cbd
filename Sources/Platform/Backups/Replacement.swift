@preconcurrency import Glibc

/// Replaces files of a state directory, all of them or none, even if the process is killed.
///
/// The new files are gathered in a folder whose name nobody looks at. Renaming that folder to
/// `StateDirectory.restoringName` commits the replacement. Before that, nothing has changed. After
/// it, every other command refuses to work until `finish` has moved each file. The old files go
/// into a folder of their own, which only `removeAsides` removes.
///
/// Only one process may use this at a time, while nobody else uses the state directory.
public struct Replacement {
    /// The suffixes of a database file and of the files that may lie beside it.
    private static let suffixes = ["", "-wal", "-shm", "-journal"]
    private static let draftName = ".restoring-draft"
    /// The file that contains the name of the folder for the old files.
    private static let asideName = "aside"

    private let directory: String
    private var folder: String { "\(directory)/\(StateDirectory.restoringName)" }

    /// Prepares a replacement in a state directory.
    public init(in directory: String) { self.directory = directory }

    /// Whether a replacement was committed and is not finished.
    public var isBegun: Bool { access(folder, F_OK) == 0 }

    /// Returns the files that a committed replacement has not yet put in place, sorted.
    public func pending() throws(BackupError) -> [String] {
        try DurableFile.names(in: folder).filter { $0 != Replacement.asideName }
    }

    /// Creates the folder for the new files, with mode 0700, and returns its path.
    ///
    /// A draft that a killed process left behind is removed first.
    public func makeDraft() throws(BackupError) -> String {
        let draft = "\(directory)/\(Replacement.draftName)"
        if try DurableFile.status(of: draft) != nil { try DurableFile.removeFolder(draft) }
        guard mkdir(draft, 0o700) == 0, chmod(draft, 0o700) == 0 else {
            throw .file(path: draft, errno: errno)
        }
        return draft
    }

    /// Discards the new files.
    public func removeDraft() throws(BackupError) {
        try DurableFile.removeFolder("\(directory)/\(Replacement.draftName)")
    }

    /// Commits the replacement.
    ///
    /// - Parameter aside: the name of the folder for the old files; it must be new.
    public func commit(aside: String) throws(BackupError) {
        let draft = "\(directory)/\(Replacement.draftName)"
        for name in try DurableFile.names(in: draft) { try DurableFile.sync("\(draft)/\(name)") }
        try DurableFile.write(aside, to: "\(draft)/\(Replacement.asideName)")
        try DurableFile.sync(draft)
        try DurableFile.rename(draft, to: folder)
        try DurableFile.syncNames(in: directory)
    }

    /// Moves every file that is not yet in place.
    ///
    /// - Returns: the folder with the old files; `nil` if another call had already finished.
    @discardableResult
    public func finish() throws(BackupError) -> String? {
        let plan = "\(folder)/\(Replacement.asideName)"
        let aside = try DurableFile.text(of: plan, atMost: 255)
        if let aside {
            guard !aside.isEmpty, !aside.contains("/"), !aside.hasPrefix(".") else {
                throw .damaged(path: folder, problem: "it does not say where to put what was there")
            }
            let old = "\(directory)/\(aside)"
            guard mkdir(old, 0o700) == 0 || errno == EEXIST else {
                throw .file(path: old, errno: errno)
            }
            for name in try DurableFile.names(in: folder) where name != Replacement.asideName {
                for file in Replacement.suffixes.map({ name + $0 }) {
                    guard try DurableFile.status(of: "\(directory)/\(file)") != nil else {
                        continue
                    }
                    try DurableFile.rename("\(directory)/\(file)", to: "\(old)/\(file)")
                }
                try DurableFile.sync(old)
                try DurableFile.syncNames(in: directory)
                // From here on, the name belongs to the new file.
                try DurableFile.rename("\(folder)/\(name)", to: "\(directory)/\(name)")
            }
            try DurableFile.syncNames(in: directory)
            guard unlink(plan) == 0 else { throw .file(path: plan, errno: errno) }
        }
        guard rmdir(folder) == 0 || errno == ENOENT else {
            throw .file(path: folder, errno: errno)
        }
        try DurableFile.syncNames(in: directory)
        return aside.map { "\(directory)/\($0)" }
    }

    /// Removes the folders with the old files of earlier replacements.
    public static func removeAsides(in directory: String) throws(BackupError) {
        for name in try DurableFile.names(in: directory) where name.hasPrefix(asidePrefix) {
            try DurableFile.removeFolder("\(directory)/\(name)")
        }
    }

    /// The prefix of the names of folders for old files.
    public static let asidePrefix = "damaged-"

    /// Returns an unused name for such a folder.
    public func freeAside(_ stamp: String) throws(BackupError) -> String {
        try DurableFile.freeName(Replacement.asidePrefix + stamp, in: directory)
    }
}

/// The path of a database in the state directory, checked before SQLite opens anything there.
public struct DatabaseFile: Sendable {
    /// How long another process may take between creating a file and writing to it.
    private static let patience = Duration.seconds(1)

    public let path: String

    /// Names the file without looking at the disk.
    public init(_ path: String) { self.path = path }

    /// The database file and the files that SQLite keeps beside it.
    private var files: [String] { ["", "-wal", "-shm"].map { path + $0 } }

    /// Checks that anything which lies there is an ordinary file.
    ///
    /// A symbolic link would be written through, and opening a pipe would block for ever.
    ///
    /// - Throws: `StateDirectoryError` with the name of the file.
    public func requirePlain() throws(StateDirectoryError) {
        for file in files {
            var status = stat()
            guard lstat(file, &status) == 0 else { continue }
            switch status.st_mode & S_IFMT {
            case S_IFREG: continue
            case S_IFLNK: throw StateDirectoryError(file: file, problem: "it is a symbolic link")
            default: throw StateDirectoryError(file: file, problem: "it is no ordinary file")
            }
        }
    }

    /// How a file that once had content was lost.
    public enum Loss: Sendable {
        /// The file is empty.
        case emptied
        /// The file does not exist.
        case missing
    }

    /// How the file was lost; `nil` if it has content or was never written.
    ///
    /// SQLite never leaves a file empty after writing to it. A file is therefore empty only between
    /// its creation and the first write, where a kill may leave it so, or because somebody
    /// truncated it. An empty file counts as lost if it has a write-ahead log with content, which
    /// SQLite would delete, or if a backup contains the file. A missing file counts as lost if a
    /// backup contains it.
    public var loss: Loss? {
        guard let first = left, first == .emptied && hasLog || hasBackup else { return nil }
        // Somebody may have removed the file while another process is creating it right now.
        var last = first
        let deadline = ContinuousClock.now + DatabaseFile.patience
        while ContinuousClock.now < deadline {
            usleep(20_000)
            guard let now = left else { return nil }
            last = now
        }
        return last
    }

    /// Whether the file is empty or missing; `nil` if it is neither.
    private var left: Loss? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return errno == ENOENT ? .missing : nil }
        return status.st_mode & S_IFMT == S_IFREG && status.st_size == 0 ? .emptied : nil
    }

    private var hasLog: Bool { size(of: "\(path)-wal").map { $0 > 0 } ?? false }

    private var hasBackup: Bool {
        do throws(BackupError) {
            return try newestBackup() != nil
        } catch {
            // Backups that cannot be read prove nothing here. Commands that need them report the
            // error.
            return false
        }
    }

    /// Returns the newest backup in the state directory that has the file.
    fileprivate func newestBackup() throws(BackupError) -> Backup? {
        guard let slash = path.lastIndex(of: "/") else { return nil }
        let name = String(path[path.index(after: slash)...])
        return try BackupFolder(ofState: String(path[..<slash])).entries().compactMap(\.backup)
            .first { $0.manifest.has(name) }
    }

    /// Returns the size of an ordinary file, or `nil` if there is none.
    private func size(of file: String) -> Int64? {
        var status = stat()
        guard lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }
}

/// Advice on what to do about a damaged file of the state directory.
public enum DamageAdvice {
    /// Returns advice such as ``restore the backup of 2026-11-20T06:00:00Z with
    /// `clarity-jobs restore` ``, or says that there is no backup.
    ///
    /// If the file is missing, the advice also says how to begin anew.
    ///
    /// - Parameter path: the path of the damaged file in its state directory.
    public static func words(about path: String) -> String {
        do throws(BackupError) {
            guard let newest = try DatabaseFile(path).newestBackup() else {
                return "there is no backup to restore"
            }
            return "restore the backup of \(newest.manifest.madeAt) with `clarity-jobs restore`"
                + (try DurableFile.status(of: path) == nil
                    ? ", or take the backups away to begin anew" : "")
        } catch {
            return "the backups cannot be read either: \(error)"
        }
    }
}
