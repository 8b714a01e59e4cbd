import Platform
@preconcurrency import Glibc

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
    var note: [UInt8] {
        var content = [UInt8](repeating: 0, count: 256)
        let count = pread(descriptor, &content, content.count, 0)
        return Array(content.prefix(max(0, count)))
    }

    /// Replaces the note, in one write.
    ///
    /// - Returns: `false` if it could not be written.
    func write(note: [UInt8]) -> Bool {
        pwrite(descriptor, note, note.count, 0) == note.count
            && ftruncate(descriptor, off_t(note.count)) == 0
    }

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
