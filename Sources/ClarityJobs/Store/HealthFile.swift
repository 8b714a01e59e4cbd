import ClaritySystem
@preconcurrency import Glibc
import SQLite

/// The file with health data in a state directory.
struct HealthFile: Sendable {
    /// The file itself with what SQLite keeps beside it.
    private static let suffixes = ["", "-wal", "-shm"]

    let directory: String

    init(in directory: String) { self.directory = directory }

    /// The file at a path that `path` gave.
    init(of path: String) { directory = String(path.dropLast("/health.db".count)) }

    var path: String { "\(directory)/health.db" }
    /// The file by which processes agree who may use the health data.
    var lockPath: String { "\(directory)/health.lock" }

    /// Whether health data was ever kept here. A file without content is one whose making was cut
    /// short before anything was in it.
    var exists: Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_size > 0
    }

    /// The same, or what opening it then says: a restore was cut short in the middle, when the file
    /// may be missing, the file was emptied or removed, or something else lies in its place.
    var isKept: Bool {
        var status = stat()
        let isOther = lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
        return exists || isOther || DatabasePlace(path).loss != nil
            || access("\(directory)/\(StateDirectory.restoringName)", F_OK) == 0
    }

    /// Whether there is a write-ahead log with something in it.
    var hasLog: Bool {
        var status = stat()
        return stat("\(path)-wal", &status) == 0 && status.st_size > 0
    }

    /// Looks whether every file that is there is this user's own; touches nothing.
    ///
    /// - Throws: `foreignFile` for one of another user, a symbolic link, or what is no file: somebody
    ///   else could have put it there to be written through or read from; `directory` where a
    ///   restore was cut short; `damaged` for a file of which nothing is left,
    ///   or that is gone and of which there is a backup.
    func check() throws(HealthStoreError) {
        try demandWhole()
        try checkFiles()
        switch DatabasePlace(path).loss {
        case .emptied: throw HealthStore.described(SQLiteError.emptied, path)
        case .missing: throw HealthStore.described(SQLiteError.missing, path)
        case nil: break
        }
    }

    /// The same in the middle of a restore.
    func checkFiles() throws(HealthStoreError) {
        for path in HealthFile.suffixes.map({ path + $0 }) + [lockPath] {
            var status = stat()
            guard lstat(path, &status) == 0 else {
                if errno == ENOENT { continue }
                throw fault()
            }
            if let problem = ownershipProblem(of: status, owners: [geteuid()]) {
                throw .foreignFile(path: path, problem: problem)
            }
        }
    }

    /// Makes an empty file of mode 0600 unless there is a file, and closes to others what was open
    /// to them; SQLite gives the files that it makes beside it the same mode.
    ///
    /// A file that is there is not opened: closing it again would take the locks of every other
    /// connection in this process (fcntl(2)).
    func make() throws(HealthStoreError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            close(descriptor)
        } else if errno != EEXIST {
            throw fault()
        }
        for suffix in HealthFile.suffixes {
            guard chmod(path + suffix, 0o600) == 0 || errno == ENOENT else { throw fault() }
        }
    }

    /// Makes sure that no restore was cut short in the middle.
    func demandWhole() throws(HealthStoreError) {
        do throws(StateDirectoryError) {
            try StateDirectory.demandWhole(directory)
        } catch {
            throw .directory(error)
        }
    }

    private func fault() -> HealthStoreError {
        .directory(StateDirectoryError(path: directory, errno: errno))
    }
}
