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
    private let file: OpenFile

    var size: Int64 { stamp.size }
    /// When its contents were last written, according to the file system.
    var writtenAt: Instant { Instant(secondsSince1970: Int64(stamp.changedSeconds)) }

    /// Opens the file at `path`, without waiting for a pipe or a device.
    ///
    /// - Throws: `SourceError.missing`, `noPermission`, `notAFile`, `empty`, `unreadable`.
    convenience init(path: String) throws(SourceError) {
        try self.init(try OpenFile(path: path))
    }

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
