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

/// The right to use a state directory's health data. All processes that work with the data share
/// it. A process holds it alone to change the master key or to restore a backup.
///
/// It is a lock (flock(2)) on `health.lock`. It ends with the last reference to it, or the kernel
/// ends it with the process. The bytes of the same file show which attempts are alive
/// (`UploadOwner`). The lock has a file of its own, because SQLite's own locks on the database
/// would be lost when this process closes any other descriptor of the database.
final class StoreLock: Sendable {
    /// How long to wait for another process.
    static let patience = Duration.seconds(2)

    private let file: FileLock
    private var descriptor: Int32 { file.descriptor }
    private let path: String

    private init(_ file: FileLock, _ path: String) { (self.file, self.path) = (file, path) }

    deinit {
        // As `FileLock` does: a child that has not begun its program must not keep the bytes.
        var range = StoreLock.range(0)
        (range.l_type, range.l_len) = (Int16(F_UNLCK), 0)
        _ = fcntl(descriptor, StoreLock.setLock, &range)
    }

    /// The note of the audit log's end (`AuditMark`), which the file holds; empty if there is none.
    var note: [UInt8] { file.note }

    /// Replaces the note, in one write.
    ///
    /// - Returns: `false` if it could not be written.
    func write(note: [UInt8]) -> Bool { file.write(note: note) }

    /// Takes the lock shared.
    ///
    /// - Parameter makesFile: whether to create the lock file if there is none. Without a lock file
    ///   nobody has ever changed the key here.
    /// - Returns: `nil` if there is no file and none was to be created.
    /// - Throws: `rotating` while another process holds the lock alone.
    static func share(
        of file: HealthFile, makesFile: Bool, patience: Duration = patience
    ) throws(HealthStoreError) -> StoreLock? {
        guard let lock = try open(file, makesFile: makesFile) else { return nil }
        guard try lock.take(LOCK_SH, of: file, patience) else { throw .rotating(path: file.path) }
        return lock
    }

    /// Takes the lock alone.
    ///
    /// - Throws: `rotation(.inUse)` while another process holds the lock; never `rotating`.
    static func alone(
        of file: HealthFile, patience: Duration = patience
    ) throws(HealthStoreError) -> StoreLock {
        guard let lock = try open(file, makesFile: true), try lock.take(LOCK_EX, of: file, patience)
        else { throw .rotation(.inUse, path: file.path) }
        return lock
    }

    private static func open(
        _ file: HealthFile, makesFile: Bool
    ) throws(HealthStoreError) -> StoreLock? {
        do throws(SystemError) {
            let flags = O_RDWR | O_NOFOLLOW | (makesFile ? O_CREAT : 0)
            return StoreLock(try FileLock(opening: file.lockPath, flags), file.lockPath)
        } catch {
            if error.code == ENOENT, !makesFile { return nil }
            throw .directory(StateDirectoryError(path: file.directory, errno: error.code))
        }
    }

    /// Locks one byte of the file until the last reference to this lock ends.
    ///
    /// It is a lock of the open file description (fcntl_locking(2)), which flock(2) does not see.
    ///
    /// - Returns: `false` if another process has locked that byte.
    func lock(byte: Int64) throws(HealthStoreError) -> Bool {
        var range = StoreLock.range(byte)
        guard fcntl(descriptor, StoreLock.setLock, &range) != 0 else { return true }
        guard errno == EAGAIN || errno == EACCES else {
            throw .directory(StateDirectoryError(path: path, errno: errno))
        }
        return false
    }

    /// Unlocks a byte that this lock has locked.
    func unlock(byte: Int64) throws(HealthStoreError) {
        var range = StoreLock.range(byte)
        range.l_type = Int16(F_UNLCK)
        guard fcntl(descriptor, StoreLock.setLock, &range) == 0 else {
            throw .directory(StateDirectoryError(path: path, errno: errno))
        }
    }

    /// Whether any process has locked a byte of the lock file.
    static func isLocked(byte: Int64, of file: HealthFile) throws(HealthStoreError) -> Bool {
        let descriptor = Glibc.open(file.lockPath, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return false }
            throw .directory(StateDirectoryError(path: file.lockPath, errno: errno))
        }
        defer { close(descriptor) }
        var range = range(byte)
        guard fcntl(descriptor, getLock, &range) == 0 else {
            throw .directory(StateDirectoryError(path: file.lockPath, errno: errno))
        }
        return range.l_type != Int16(F_UNLCK)
    }

    /// F_OFD_GETLK and F_OFD_SETLK of <fcntl.h>, which the Glibc module leaves out.
    private static var getLock: Int32 { 36 }
    private static var setLock: Int32 { 37 }

    private static func range(_ byte: Int64) -> flock {
        flock(
            l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: off_t(byte), l_len: 1,
            l_pid: 0)
    }

    private func take(
        _ kind: Int32, of health: HealthFile, _ patience: Duration
    ) throws(HealthStoreError) -> Bool {
        do throws(SystemError) {
            return try file.take(kind, patience: patience)
        } catch {
            throw .directory(StateDirectoryError(path: health.directory, errno: error.code))
        }
    }
}

extension FileLock {
    /// The content of a file with a note; empty if there is none.
    var note: [UInt8] {
        var content = [UInt8](repeating: 0, count: 256)
        let count = pread(descriptor, &content, content.count, 0)
        return Array(content.prefix(max(0, count)))
    }

    /// Replaces the content, in one write.
    ///
    /// - Returns: `false` if it could not be written.
    func write(note: [UInt8]) -> Bool {
        pwrite(descriptor, note, note.count, 0) == note.count
            && ftruncate(descriptor, off_t(note.count)) == 0
    }
}
