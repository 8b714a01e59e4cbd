@preconcurrency import Glibc

/// Where a database of the state directory lies, seen before SQLite opens anything there.
public struct DatabasePlace: Sendable {
    /// How long another process may take from the making of a file to what it first writes to it.
    private static let patience = Duration.seconds(1)

    public let path: String

    /// Names the place; nothing is looked at yet.
    public init(_ path: String) { self.path = path }

    /// The file itself with what SQLite keeps beside it.
    private var files: [String] { ["", "-wal", "-shm"].map { path + $0 } }

    /// Makes sure that nothing but ordinary files lies there, if anything does: a link would be
    /// written through, and a pipe waited on for ever.
    ///
    /// - Throws: `StateDirectoryError` that names the file.
    public func demandPlain() throws(StateDirectoryError) {
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

    /// What is left of a file that once had something in it.
    public enum Loss: Sendable {
        /// A file without content.
        case emptied
        /// No file at all.
        case missing
    }

    /// How the file was lost; `nil` for one that has something in it, or that was never begun.
    ///
    /// SQLite never leaves a file empty to which it has written. So one is empty from its making to
    /// the first write, where a kill may leave it, or because somebody has cut it. A log with
    /// something in it, which SQLite would remove, or a backup of the file tells which; of a file
    /// that is not there a backup tells.
    public var loss: Loss? {
        guard let first = left, first == .emptied && hasLog || hasBackup else { return nil }
        // Somebody may have removed the file, and another process be making it at this instant.
        var last = first
        let deadline = ContinuousClock.now + DatabasePlace.patience
        while ContinuousClock.now < deadline {
            usleep(20_000)
            guard let now = left else { return nil }
            last = now
        }
        return last
    }

    /// What lies there if it is nothing.
    private var left: Loss? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return errno == ENOENT ? .missing : nil }
        return status.st_mode & S_IFMT == S_IFREG && status.st_size == 0 ? .emptied : nil
    }

    private var hasLog: Bool { size(of: "\(path)-wal").map { $0 > 0 } ?? false }

    private var hasBackup: Bool {
        guard let slash = path.lastIndex(of: "/") else { return false }
        let name = String(path[path.index(after: slash)...])
        do throws(BackupError) {
            return try BackupFolder(ofState: String(path[..<slash])).entries()
                .contains { $0.backup?.manifest.has(name) ?? false }
        } catch {
            // Backups that cannot be read are no proof, and whoever wants them is told.
            return false
        }
    }

    /// The size of an ordinary file; `nil` when there is none.
    private func size(of file: String) -> Int64? {
        var status = stat()
        guard lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }
}
