import ClarityScheduler
@preconcurrency import Glibc

/// An open regular file that is read once, from its beginning to its end.
final class RegularFile {
    /// Shows whether a name still leads to the file that was opened, in the state that it had then.
    struct Stamp: Hashable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        var changedSeconds: Int
        var changedNanoseconds: Int
        var isRegular: Bool

        init(_ status: stat) {
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
            size = Int64(status.st_size)
            // The time of the contents; a move changes another one.
            changedSeconds = status.st_mtim.tv_sec
            changedNanoseconds = status.st_mtim.tv_nsec
            isRegular = status.st_mode & S_IFMT == S_IFREG
        }
    }

    let stamp: Stamp
    private let descriptor: Int32
    private let path: String

    var size: Int64 { stamp.size }
    /// When its contents were last written, according to the file system.
    var writtenAt: Instant { Instant(secondsSince1970: Int64(stamp.changedSeconds)) }

    /// Opens the file at `path`, without waiting for a pipe or a device.
    ///
    /// - Throws: `SourceError.missing`, `noPermission`, `notAFile`, `empty`, `unreadable`.
    convenience init(path: String) throws(SourceError) {
        try self.init(
            descriptor: open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), path: path)
    }

    /// Opens the file `name` of a folder, unless it is a symbolic link.
    convenience init(_ name: String, in folder: OpenFolder) throws(SourceError) {
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW
        try self.init(
            descriptor: openat(folder.descriptor, name, flags), path: "\(folder.path)/\(name)")
    }

    private init(descriptor: Int32, path: String) throws(SourceError) {
        guard descriptor >= 0 else { throw SourceError(opening: path, errno) }
        var status = stat()
        let code = fstat(descriptor, &status) == 0 ? 0 : errno
        guard code == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
            close(descriptor)
            if code != 0 { throw SourceError(opening: path, code) }
            guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path: path) }
            throw .empty(path: path)
        }
        self.descriptor = descriptor
        self.path = path
        stamp = Stamp(status)
    }

    deinit { close(descriptor) }

    /// Reads the next bytes into `bytes` from `start` on, as many as fit, and returns how many; 0
    /// only at the end of the file.
    func read(into bytes: inout [UInt8], from start: Int = 0) throws(SourceError) -> Int {
        let (count, code) = bytes.withUnsafeMutableBytes { buffer in
            while true {
                let room = UnsafeMutableRawBufferPointer(rebasing: buffer[start...])
                let count = Glibc.read(descriptor, room.baseAddress, room.count)
                if count >= 0 || errno != EINTR { return (count, errno) }
            }
        }
        guard count >= 0 else { throw SourceError(opening: path, code) }
        return count
    }

    /// Returns the whole file, of at most `limit` bytes.
    ///
    /// - Throws: `SourceError.tooLarge`, `unreadable`.
    func bytes(atMost limit: Int) throws(SourceError) -> [UInt8] {
        guard size <= limit else { throw .tooLarge(path: path, limit: limit) }
        var bytes = [UInt8](repeating: 0, count: Int(size) + 1)
        var count = 0
        while count < bytes.count {
            let added = try read(into: &bytes, from: count)
            guard added > 0 else { break }
            count += added
        }
        // The file has grown in the meantime, because somebody is still writing it.
        guard count < bytes.count else {
            throw .unreadable(path: path, reason: "it grows while it is read")
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}

extension SourceError {
    /// Creates the error for the system's refusal to open or read a file.
    init(opening path: String, _ code: Int32) {
        switch code {
        case ENOENT, ENOTDIR: self = .missing(path: path)
        case EACCES, EPERM: self = .noPermission(path: path)
        default:
            self = .unreadable(path: path, reason: String(cString: strerror(code)).lowercased())
        }
    }
}

/// The part at the beginning of a file that shows its kind.
enum SourceSignature {
    /// The number of bytes that show a file's kind.
    static let length = 4096
}
