@preconcurrency import Glibc

/// Reads files to their end, and the names in folders.
public enum WholeFile {
    /// Why a file or a folder cannot be read.
    public enum Fault: Error, Hashable, Sendable {
        /// The system refused, with its `errno`.
        case refused(Int32)
        /// The file has more bytes than its reader accepts.
        case tooLarge
    }

    /// Returns the bytes of a file, or of anything else that can be read to its end.
    ///
    /// - Parameter flags: further flags of open(2), such as `O_NONBLOCK`, with which a named pipe
    ///   is not waited for.
    public static func bytes(
        of path: String, atMost limit: Int, flags: Int32 = 0
    ) throws(Fault) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | flags)
        guard descriptor >= 0 else { throw .refused(errno) }
        defer { close(descriptor) }
        return try bytes(from: descriptor, atMost: limit)
    }

    /// Returns the bytes that are left at a descriptor.
    static func bytes(from descriptor: Int32, atMost limit: Int) throws(Fault) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            var code: Int32 = 0
            // Not zeroed first, which would cost more than reading a small file.
            let chunk = [UInt8](unsafeUninitializedCapacity: 16 << 10) { buffer, count in
                let result = read(descriptor, buffer.baseAddress, buffer.count)
                code = result < 0 ? errno : 0
                count = max(result, 0)
            }
            if code == EINTR { continue }
            guard code == 0 else { throw .refused(code) }
            if chunk.isEmpty { return bytes }
            bytes += chunk
            guard bytes.count <= limit else { throw .tooLarge }
        }
    }

    /// Returns the names in a folder, sorted.
    public static func names(in folder: String) throws(Fault) -> [String] {
        guard let listing = opendir(folder) else { throw .refused(errno) }
        defer { closedir(listing) }
        return names(in: listing)
    }

    /// Returns the names that are left in an open folder, sorted.
    static func names(in listing: OpaquePointer) -> [String] {
        var names: [String] = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}

/// Returns the number of seconds since the last write at a path, or `nil` if nothing is there.
///
/// A symbolic link is not followed. The result is negative if the wall clock was set back.
public func secondsSinceWritten(_ path: String) -> Int? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    return time(nil) - status.st_mtim.tv_sec
}
