@preconcurrency import Glibc

/// File operations that a power loss undoes completely or not at all.
///
/// They do not follow a symbolic link in the last component of a path. `names` and `syncNames` are
/// exceptions, because the user may have chosen the folder.
public enum DurableFile {
    /// Creates a file with mode 0600, whatever the umask; the file must not exist.
    public static func make(_ path: String) throws(BackupError) {
        close(try created(path))
    }

    /// Writes a new file with mode 0600 and syncs it, if it is to last; its folder is not synced.
    package static func write(
        _ text: String, to path: String, lasts: Bool = true
    ) throws(BackupError) {
        let descriptor = try created(path)
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        try bytes.withUnsafeBufferPointer { bytes throws(BackupError) in
            try write(UnsafeRawBufferPointer(bytes), to: descriptor, at: path)
        }
        guard !lasts || fsync(descriptor) == 0 else { throw .file(path: path, errno: errno) }
    }

    /// Replaces a file by one with this text and mode 0600. The new one is durable when this
    /// returns.
    ///
    /// Only one process at a time may replace the file.
    ///
    /// - Parameter lasts: `false` for a file that may be lost, or half a file, after a power loss.
    public static func replace(
        _ path: String, by text: String, lasts: Bool = true
    ) throws(BackupError) {
        let draft = "\(path).new"
        // One that a killed process has left.
        unlink(draft)
        try write(text, to: draft, lasts: lasts)
        try rename(draft, to: path)
        guard lasts else { return }
        try syncNames(in: String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
    }

    /// Creates the folder of a file with mode 0700 if it is missing, durably when this returns.
    public static func makeFolder(of path: String) throws(BackupError) {
        let folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        if mkdir(folder, 0o700) == 0 {
            let parent = String(folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)])
            return try syncNames(in: parent)
        }
        guard errno == EEXIST else { throw .file(path: folder, errno: errno) }
        var status = stat()
        guard lstat(folder, &status) == 0 else { throw .file(path: folder, errno: errno) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .file(path: folder, errno: ENOTDIR) }
    }

    /// Returns the text of a small file, or `nil` if the file does not exist.
    public static func text(of path: String, atMost limit: Int) throws(BackupError) -> String? {
        do throws(WholeFile.Fault) {
            let bytes = try WholeFile.bytes(
                of: path, atMost: limit, flags: O_NOFOLLOW | O_NONBLOCK)
            return String(decoding: bytes, as: UTF8.self)
        } catch .refused(ENOENT) {
            return nil
        } catch {
            throw BackupError(error, at: path)
        }
    }

    /// Copies an ordinary file to a new file with mode 0600, and syncs the new file.
    static func copy(_ path: String, to target: String) throws(BackupError) {
        let destination = try created(target)
        defer { close(destination) }
        try forEachBlock(of: path) { block throws(BackupError) in
            try write(block, to: destination, at: target)
        }
        guard fsync(destination) == 0 else { throw .file(path: target, errno: errno) }
    }

    /// Returns a file's size and SHA-256 digest.
    static func facts(of path: String) throws(BackupError) -> (bytes: Int64, digest: String) {
        var digest = SHA256()
        var size: Int64 = 0
        try forEachBlock(of: path) { block throws(BackupError) in
            digest.update(block)
            size += Int64(block.count)
        }
        return (size, digest.finish())
    }

    /// Syncs a file, or the entries of one of our own folders.
    static func sync(_ path: String) throws(BackupError) { try sync(path, O_NOFOLLOW) }

    /// Syncs the entries of a folder that the user chose and that may be a link.
    package static func syncNames(in folder: String) throws(BackupError) {
        try sync(folder, O_DIRECTORY)
    }

    private static func sync(_ path: String, _ flags: Int32) throws(BackupError) {
        let descriptor = try opened(path, O_RDONLY | flags)
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .file(path: path, errno: errno) }
    }

    /// Renames a file or folder on the same disk.
    static func rename(_ path: String, to target: String) throws(BackupError) {
        guard Glibc.rename(path, target) == 0 else { throw .file(path: target, errno: errno) }
    }

    /// Returns the names in a folder, sorted; empty if the folder does not exist.
    static func names(in folder: String) throws(BackupError) -> [String] {
        do throws(WholeFile.Fault) {
            return try WholeFile.names(in: folder)
        } catch .refused(ENOENT) {
            return []
        } catch {
            throw BackupError(error, at: folder)
        }
    }

    /// How deep subfolders of a removed folder may nest; our own folders have none.
    private static let depthLimit = 16

    /// Removes a folder with its content, or whatever else lies at the path.
    ///
    /// Subfolders nest at most 16 deep. A path that does not exist is not an error. No symbolic
    /// link is followed: somebody else may have put it there, and its target stays.
    public static func removeFolder(_ path: String) throws(BackupError) {
        try remove(path, in: AT_FDCWD, at: path, depth: 0)
    }

    /// Removes one entry of an open folder.
    ///
    /// - Parameters:
    ///   - name: the entry, relative to the open folder `parent`.
    ///   - path: the full path of the entry, for error messages.
    private static func remove(
        _ name: String, in parent: Int32, at path: String, depth: Int
    ) throws(BackupError) {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        let descriptor = openat(parent, name, flags)
        guard descriptor >= 0 else {
            guard errno == ENOTDIR || errno == ELOOP else {
                if errno == ENOENT { return }
                throw .file(path: path, errno: errno)
            }
            guard unlinkat(parent, name, 0) == 0 || errno == ENOENT else {
                throw .file(path: path, errno: errno)
            }
            return
        }
        guard let listing = fdopendir(descriptor) else {
            let code = errno
            close(descriptor)
            throw .file(path: path, errno: code)
        }
        defer { closedir(listing) }
        guard depth <= depthLimit else {
            throw .unusable(path: path, problem: "it lies too deep to be removed")
        }
        for child in WholeFile.names(in: listing) {
            try remove(child, in: descriptor, at: "\(path)/\(child)", depth: depth + 1)
        }
        guard unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT else {
            throw .file(path: path, errno: errno)
        }
    }

    /// Returns the status of a path without following a link, or `nil` if nothing lies there.
    static func status(of path: String) throws(BackupError) -> stat? {
        var status = stat()
        if lstat(path, &status) == 0 { return status }
        guard errno == ENOENT else { throw .file(path: path, errno: errno) }
        return nil
    }

    /// Returns an unused name in a folder: `base`, with a number appended if it is taken.
    static func freeName(_ base: String, in folder: String) throws(BackupError) -> String {
        var name = base
        var number = 1
        while try status(of: "\(folder)/\(name)") != nil {
            number += 1
            name = "\(base)-\(number)"
        }
        return name
    }

    private static func opened(_ path: String, _ flags: Int32) throws(BackupError) -> Int32 {
        let descriptor = open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .file(path: path, errno: errno) }
        return descriptor
    }

    /// Creates a file with mode 0600, whatever the umask, and opens it for writing.
    private static func created(_ path: String) throws(BackupError) -> Int32 {
        let descriptor = try opened(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
        guard fchmod(descriptor, 0o600) == 0 else {
            let code = errno
            close(descriptor)
            throw .file(path: path, errno: code)
        }
        return descriptor
    }

    private static func write(
        _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at path: String
    ) throws(BackupError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(
                descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            // A write of 0 bytes does not set `errno`: the disk was full.
            guard count > 0 else { throw .file(path: path, errno: count == 0 ? ENOSPC : errno) }
            rest = rest.dropFirst(count)
        }
    }

    private static func forEachBlock(
        of path: String, _ body: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) {
        let descriptor = try opened(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .file(path: path, errno: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .unusable(path: path, problem: "it is no ordinary file")
        }
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .file(path: path, errno: errno) }
            if count == 0 { return }
            try buffer.withUnsafeBufferPointer { bytes throws(BackupError) in
                try body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[..<count])))
            }
        }
    }
}
