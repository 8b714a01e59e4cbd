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

/// Copies a database that other processes may be writing to, and leaves no files beside it.
///
/// Opening a database in WAL mode in the ordinary way creates a `-shm` file, and may copy the
/// write-ahead log into the file.
struct DatabaseCopy {
    let path: String
    /// The folder for temporary files.
    let drafts: String

    /// Copies the database into `target`.
    ///
    /// - Throws: `DatabaseError` if the files cannot be read, or if they are damaged and not merely
    ///   being written during the copy.
    func copy(into target: FileConnection) throws(DatabaseError) {
        for _ in 1...3 where try copyUndisturbed(into: target) { return }
        // A writer is active, so its `-shm` file exists already and reading through it adds
        // nothing.
        try FileConnection(path: path, access: .readOnly).copy(into: target)
    }

    /// Copies the files as they are.
    ///
    /// - Returns: `false` if one of them changed during the copy, whatever SQLite made of it.
    private func copyUndisturbed(into target: FileConnection) throws(DatabaseError) -> Bool {
        let before = stamps()
        do throws(DatabaseError) {
            if before[1] == nil {
                try FileConnection(path: path, access: .immutable).copy(into: target)
            } else {
                guard try copyWithLog(into: target) else { return false }
            }
        } catch {
            // During a checkpoint the first page refers to pages that are not there yet.
            if stamps() != before { return false }
            throw error
        }
        return stamps() == before
    }

    /// Copies the file and its log into a folder of our own, where SQLite may recover the database.
    private func copyWithLog(into target: FileConnection) throws(DatabaseError) -> Bool {
        removeLeftovers()
        var template = Array("\(drafts)/\(DatabaseCopy.prefix)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw ioError("a temporary folder") }
        let folder = String(
            decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // Held until the copy is removed; the kernel releases it when this process ends.
        var status = stat()
        guard let lock = DatabaseCopy.lock(folder), fstat(lock.descriptor, &status) == 0,
            status.st_nlink > 0
        else {
            // Another process took the folder for a leftover; the next try makes another one.
            return false
        }
        let draft = "\(folder)/health.db"
        defer { withExtendedLifetime(lock) { DatabaseCopy.remove(folder) } }
        // The file is copied first: a checkpoint in between changes its stamp.
        for suffix in ["", "-wal"] { try copyFile(path + suffix, to: draft + suffix) }
        guard stamps()[0] != nil else { return false }
        try FileConnection(path: draft, access: .readWrite).copy(into: target)
        return true
    }

    /// The first part of the name of a copy's folder; six characters follow.
    private static let prefix = "clarity-jobs-copy."

    /// Removes the copies of processes that were killed: folders of this user that nobody has
    /// locked.
    private func removeLeftovers() {
        let names: [String]
        do { names = try WholeFile.names(in: drafts) } catch { return }
        for name in names where name.hasPrefix(DatabaseCopy.prefix) {
            let folder = "\(drafts)/\(name)"
            var status = stat()
            guard let lock = DatabaseCopy.lock(folder), fstat(lock.descriptor, &status) == 0,
                status.st_uid == geteuid()
            else { continue }
            withExtendedLifetime(lock) { DatabaseCopy.remove(folder) }
        }
    }

    /// Locks a folder of copies, unless it is a link; `nil` if another process has it.
    private static func lock(_ folder: String) -> FileLock? {
        do throws(SystemError) {
            let lock = try FileLock(opening: folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
            return try lock.take(LOCK_EX) ? lock : nil
        } catch {
            return nil
        }
    }

    /// Removes the folder and the files of a copy, and nothing else.
    private static func remove(_ folder: String) {
        for suffix in ["", "-wal", "-shm"] { unlink("\(folder)/health.db\(suffix)") }
        rmdir(folder)
    }

    /// Returns the size and the modification time of the file and of its log; `nil` for one that is
    /// missing or empty.
    private func stamps() -> [String?] {
        ["", "-wal"].map { suffix in
            var status = stat()
            guard stat(path + suffix, &status) == 0, status.st_size > 0 else { return nil }
            return "\(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
        }
    }

    private func copyFile(_ from: String, to target: String) throws(DatabaseError) {
        let source = open(from, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw ioError(from) }
        defer { close(source) }
        let destination = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard destination >= 0 else { throw ioError(target) }
        defer { close(destination) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(source, &buffer, buffer.count)
            if count == 0 { return }
            guard count > 0 else { throw ioError(from) }
            var written = 0
            while written < count {
                let step = buffer.withUnsafeBytes {
                    write(destination, $0.baseAddress.map { $0 + written }, count - written)
                }
                guard step > 0 else { throw ioError(target) }
                written += step
            }
        }
    }

    private func ioError(_ name: String) -> DatabaseError {
        // SQLITE_IOERR, the code that SQLite itself would use.
        DatabaseError(code: 10, message: "cannot copy `\(name)`: \(SystemError().reason)")
    }
}
