import Platform
@preconcurrency import Glibc
import ClarityScheduler

/// An open file or folder.
final class OpenFile {
    /// The number of bytes at the beginning of a file that show its kind.
    static let headLength = 4096

    let descriptor: Int32
    let path: String
    let status: stat

    /// Opens `path` for reading, wherever it leads, without waiting for a pipe or a device.
    ///
    /// - Throws: `SourceError.missing`, `noPermission`, `unreadable`.
    convenience init(path: String) throws(SourceError) { try self.init(SourcePlace(path)) }

    /// Opens a file for reading; its path is followed as far as the place allows.
    ///
    /// - Throws: `SourceError.missing`, `noPermission`, `symbolicLink`, `hardLink`, `unreadable`.
    convenience init(_ place: SourcePlace) throws(SourceError) {
        if let (folder, name) = try place.parent() {
            try self.init(name, in: folder)
        } else {
            let descriptor = open(place.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            try self.init(descriptor: descriptor, path: place.path)
        }
    }

    /// Opens the file `name` of a folder, unless it is a symbolic link or may belong to somebody
    /// else.
    convenience init(_ name: String, in folder: OpenFolder) throws(SourceError) {
        let path = folder.place.inside(name).path
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW
        let descriptor = openat(folder.descriptor, name, flags)
        if descriptor < 0, errno == ELOOP { throw .symbolicLink(path: path) }
        try self.init(descriptor: descriptor, path: path)
        guard !folder.isForeign(status) else { throw .hardLink(path: path) }
    }

    private init(descriptor: Int32, path: String) throws(SourceError) {
        guard descriptor >= 0 else { throw SourceError(opening: path, errno) }
        var found = stat()
        guard fstat(descriptor, &found) == 0 else {
            let code = errno
            close(descriptor)
            throw SourceError(opening: path, code)
        }
        self.descriptor = descriptor
        self.path = path
        status = found
    }

    deinit { close(descriptor) }

    var isFolder: Bool { status.st_mode & S_IFMT == S_IFDIR }
    var isRegular: Bool { status.st_mode & S_IFMT == S_IFREG }
    var size: Int64 { Int64(status.st_size) }

    /// Checks that it is a regular file and not empty.
    ///
    /// - Throws: `SourceError.notAFile`, `empty`.
    func checkHasContents() throws(SourceError) {
        guard isRegular else { throw .notAFile(path: path) }
        guard size > 0 else { throw .empty(path: path) }
    }

    /// Returns the first bytes, at most `length`; the reading position does not move.
    func head(_ length: Int = OpenFile.headLength) throws(SourceError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: length)
        let count = bytes.withUnsafeMutableBytes { buffer in
            retrying { pread(descriptor, buffer.baseAddress, buffer.count, 0) }
        }
        guard count >= 0 else { throw SourceError(opening: path, errno) }
        return Array(bytes.prefix(count))
    }

    /// Reads the next bytes, as many as fit, and returns how many; 0 only at the end of the file,
    /// and -1 with `errno` if the system cannot read on.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        retrying { Glibc.read(descriptor, buffer.baseAddress, buffer.count) }
    }

    /// Repeats a call that a signal interrupted.
    private func retrying(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }
}

extension SourceError {
    /// Creates the error for the system's refusal to open or read a file.
    init(opening path: String, _ code: Int32) {
        switch code {
        case ENOENT, ENOTDIR: self = .missing(path: path)
        case EACCES, EPERM: self = .noPermission(path: path)
        default:
            self = .unreadable(path: path, reason: SystemError(code: code).reason)
        }
    }
}

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
    private let file: OpenFile

    var size: Int64 { stamp.size }
    /// When its contents were last written, according to the file system.
    var writtenAt: Instant { Instant(secondsSince1970: Int64(stamp.changedSeconds)) }

    /// Creates the reader of an open file.
    ///
    /// - Throws: `SourceError.notAFile`, `empty`.
    init(_ file: OpenFile) throws(SourceError) {
        try file.checkHasContents()
        self.file = file
        stamp = Stamp(file.status)
    }

    /// Reads the next bytes into `bytes` from `start` on, as many as fit, and returns how many; 0
    /// only at the end of the file.
    func read(into bytes: inout [UInt8], from start: Int = 0) throws(SourceError) -> Int {
        let count = bytes.withUnsafeMutableBytes {
            file.read(into: UnsafeMutableRawBufferPointer(rebasing: $0[start...]))
        }
        guard count >= 0 else { throw SourceError(opening: file.path, errno) }
        return count
    }

    /// Returns the whole file, of at most `limit` bytes.
    ///
    /// - Throws: `SourceError.tooLarge`, `unreadable`.
    func bytes(atMost limit: Int) throws(SourceError) -> [UInt8] {
        guard size <= limit else { throw .tooLarge(path: file.path, limit: limit) }
        var bytes = [UInt8](repeating: 0, count: Int(size) + 1)
        var count = 0
        while count < bytes.count {
            let added = try read(into: &bytes, from: count)
            guard added > 0 else { break }
            count += added
        }
        // The file has grown in the meantime, because somebody is still writing it.
        guard count < bytes.count else {
            throw .unreadable(path: file.path, reason: "it grows while it is read")
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}
