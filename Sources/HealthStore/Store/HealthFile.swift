import Platform
@preconcurrency import Glibc
import Database

/// The file with health data in a state directory.
struct HealthFile: Sendable {
    /// The suffixes of the file itself and of the files that SQLite keeps beside it.
    private static let suffixes = ["", "-wal", "-shm"]

    let directory: String

    init(in directory: String) { self.directory = directory }

    /// Creates the value for a path that `path` returned.
    init(of path: String) { directory = String(path.dropLast("/health.db".count)) }

    var path: String { "\(directory)/health.db" }
    /// The lock file by which processes agree on who may use the health data.
    var lockPath: String { "\(directory)/health.lock" }

    /// Whether health data was ever stored here. An empty file is left when creating it was cut
    /// short before anything was in it.
    var exists: Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_size > 0
    }

    /// Whether health data was ever stored here, or opening the file reports why it is not there. A
    /// restore may have been cut short, so that the file may be missing. The file may have been
    /// emptied or removed, or something else may be in its place.
    var isKept: Bool {
        var status = stat()
        let isOther = lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
        return exists || isOther || DatabaseFile(path).loss != nil
            || access("\(directory)/\(StateDirectory.restoringName)", F_OK) == 0
    }

    /// Whether there is a write-ahead log that is not empty.
    var hasLog: Bool {
        var status = stat()
        return stat("\(path)-wal", &status) == 0 && status.st_size > 0
    }

    /// Checks that every existing file belongs to this user; changes nothing.
    ///
    /// - Throws: `foreignFile` for a file of another user, a symbolic link, or something that is
    ///   not a file: somebody else could have put it there to redirect reads or writes. `directory`
    ///   if a restore was cut short. `damaged` for a file that was emptied, or that is gone
    ///   although there is a backup of it.
    func check() throws(HealthStoreError) {
        try requireWhole()
        try checkFiles()
        switch DatabaseFile(path).loss {
        case .emptied: throw HealthStore.described(DatabaseError.emptied, path)
        case .missing: throw HealthStore.described(DatabaseError.missing, path)
        case nil: break
        }
    }

    /// Checks the files as `check` does, but also while a restore is unfinished.
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

    /// Creates an empty file of mode 0600 unless there is one, and takes access away from others.
    /// SQLite gives the files that it creates beside it the same mode.
    ///
    /// An existing file is not opened, because closing it again would release the locks of every
    /// other connection in this process (fcntl(2)).
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

    /// Checks that no restore was cut short.
    func requireWhole() throws(HealthStoreError) {
        try HealthStore.describing(path) { try StateDirectory.requireWhole(directory) }
    }

    private func fault() -> HealthStoreError {
        .directory(StateDirectoryError(path: directory, errno: errno))
    }
}
