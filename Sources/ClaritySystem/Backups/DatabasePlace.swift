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

    /// Whether the file is empty and once was not.
    ///
    /// SQLite never leaves a file empty to which it has written. So one is empty from its making to
    /// the first write, where a kill may leave it, or because somebody has cut it. A log with
    /// something in it, which SQLite would remove, or a backup of the file tells which.
    public var isEmptied: Bool {
        guard isEmpty, hasLog || hasBackup else { return false }
        // Somebody may have removed the file, and another process be making it at this instant.
        let deadline = ContinuousClock.now + DatabasePlace.patience
        while ContinuousClock.now < deadline {
            usleep(20_000)
            guard isEmpty else { return false }
        }
        return true
    }

    private var isEmpty: Bool { size(of: path) == 0 }

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
