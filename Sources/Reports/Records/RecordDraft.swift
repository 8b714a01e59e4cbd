import CLinux
import Platform
@preconcurrency import Glibc

/// The unfinished file beside a name, which is removed unless it gets the name.
///
/// Half a file in the clear is of no use to anybody. What a killed process has left is written anew;
/// what another process is writing is left alone.
final class RecordDraft {
    let path: String
    /// Locked until the draft is gone or has its name.
    private let lock: FileLock
    var descriptor: Int32 { lock.descriptor }
    private let name: String
    private var isOurs = false

    /// - Throws: `RecordExport.Fault.exists` if something has the name already, `.busy` if another
    ///   process writes it.
    init(of name: String) throws(RecordExport.Fault) {
        self.name = name
        path = "\(name).part"
        try RecordDraft.checkIsNew(name)
        do throws(SystemError) {
            lock = try FileLock(opening: path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK)
            guard try lock.take(LOCK_EX) else { throw SystemError(code: EWOULDBLOCK) }
        } catch {
            guard error.code == EWOULDBLOCK else { throw .system(path: path, code: error.code) }
            throw .busy(path: name)
        }
        try prepare()
        isOurs = true
    }

    private func prepare() throws(RecordExport.Fault) {
        var (status, named) = (stat(), stat())
        // Who held the lock until now may have given the file its name.
        guard fstat(descriptor, &status) == 0, lstat(path, &named) == 0,
            status.st_ino == named.st_ino, status.st_dev == named.st_dev
        else { throw .busy(path: name) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_nlink == 1
        else { throw .system(path: path, code: EEXIST) }
        guard fchmod(descriptor, 0o600) == 0,
            status.st_size == 0 || ftruncate(descriptor, 0) == 0
        else { throw .system(path: path, code: errno) }
    }

    deinit {
        if isOurs { unlink(path) }
    }

    /// Gives the whole file its name. What another program put there in the meantime stays.
    func finish() throws(RecordExport.Fault) {
        guard fsync(descriptor) == 0 else { throw .system(path: name, code: errno) }
        try giveName()
        isOurs = false
    }

    private func giveName() throws(RecordExport.Fault) {
        if clinux_rename_to_new(path, name) == 0 { return }
        switch errno {
        case EEXIST: throw .exists(path: name)
        case EINVAL, ENOSYS:
            // Not every file system can look and rename at once.
            try RecordDraft.checkIsNew(name)
            guard rename(path, name) == 0 else { throw .system(path: name, code: errno) }
        default: throw .system(path: name, code: errno)
        }
    }

    /// - Throws: `RecordExport.Fault.exists` if something is at a path, even a link to nothing.
    static func checkIsNew(_ path: String) throws(RecordExport.Fault) {
        guard faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0 else {
            throw .exists(path: path)
        }
    }
}
