import Platform
@preconcurrency import Glibc
import Platform

/// A file that holds a master key and nothing else.
enum KeyFile {
    /// Who wrote the file, and who may read it.
    enum Kind {
        /// In the state directory: owned by this user, no symbolic link, closed to everybody else.
        case own
        /// Given by a service manager or a person: owned by this user or root, closed to all but
        /// their groups.
        case credential
    }

    /// Returns the key in the file; `nil` if there is no such file.
    static func read(_ path: String, as kind: Kind) throws(MasterKeyError) -> MasterKey? {
        guard let content = try content(of: path, as: kind) else { return nil }
        return try MasterKey(content: content, origin: "`\(path)`")
    }

    /// Returns the bytes of the file, of which a key has fewer than 1024; `nil` if there is no such
    /// file.
    static func content(of path: String, as kind: Kind) throws(MasterKeyError) -> [UInt8]? {
        // A container manager provides its credentials as links.
        let follow = kind == .own ? O_NOFOLLOW : 0
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | follow)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT: return nil
            case ELOOP: throw .notOurs(path: path, problem: "it is a symbolic link")
            default: throw .file(path: path, errno: errno)
            }
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .file(path: path, errno: errno) }
        var owners = [geteuid()]
        if kind == .credential { owners.append(0) }
        if let problem = ownershipProblem(of: status, owners: owners) {
            throw .notOurs(path: path, problem: problem)
        }
        guard status.st_mode & (kind == .own ? 0o077 : 0o007) == 0 else {
            throw .openToOthers(path: path, mode: status.st_mode & 0o777)
        }
        // More than any key has.
        var content = [UInt8](repeating: 0, count: 1024)
        let count = Glibc.read(descriptor, &content, content.count)
        guard count >= 0 else { throw .file(path: path, errno: errno) }
        return Array(content[..<count])
    }

    /// Creates the file with mode 0600 and these bytes in hex.
    ///
    /// The file appears whole or not at all: it is first written and synced under another name. Its
    /// folder is synced too, so the file is durable when this returns, whoever created it.
    ///
    /// - Returns: `false` if the file already exists.
    static func make(_ path: String, _ bytes: [UInt8]) throws(MasterKeyError) -> Bool {
        try makeFolder(of: path)
        let draft = try write(bytes, besides: path)
        defer { unlink(draft) }
        let isMade = link(draft, path) == 0
        guard isMade || errno == EEXIST else { throw .file(path: path, errno: errno) }
        try syncFolder(of: path)
        return isMade
    }

    private static func makeFolder(of path: String) throws(MasterKeyError) {
        do throws(BackupError) {
            try DurableFile.makeFolder(of: path)
        } catch .file(let path, let code) {
            throw .file(path: path, errno: code)
        } catch {
            throw .notOurs(path: path, problem: error.description)
        }
    }

    /// Renames a file to a path where there is none, durably when this returns. A missing file is no
    /// error, and one stays where there are both.
    static func move(_ path: String, to target: String) throws(MasterKeyError) {
        guard access(path, F_OK) == 0, access(target, F_OK) != 0 else { return }
        try makeFolder(of: target)
        guard rename(path, target) == 0 || errno == ENOENT else {
            throw .file(path: path, errno: errno)
        }
        try syncFolder(of: target)
        try syncFolder(of: path)
    }

    /// What the name of a key file ends in while it waits to replace the one without it.
    static let nextSuffix = ".new"

    /// Renames the file `next` to `path`, durably when this returns.
    static func replace(_ path: String, by next: String) throws(MasterKeyError) {
        guard rename(next, path) == 0 else { throw .file(path: path, errno: errno) }
        try syncFolder(of: path)
    }

    /// Removes the file, durably when this returns; a missing file is no error.
    static func remove(_ path: String) throws(MasterKeyError) {
        if unlink(path) == 0 { return try syncFolder(of: path) }
        guard errno == ENOENT else { throw .file(path: path, errno: errno) }
    }

    /// Overwrites the file and removes it, durably when this returns; a missing file is no error.
    ///
    /// A disk or file system that writes elsewhere keeps the bytes of before.
    static func destroy(_ path: String) throws(MasterKeyError) {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        if descriptor >= 0 {
            defer { close(descriptor) }
            let zeros = [UInt8](repeating: 0, count: 1024)
            guard Glibc.write(descriptor, zeros, zeros.count) == zeros.count,
                fsync(descriptor) == 0
            else { throw .file(path: path, errno: errno) }
        }
        try remove(path)
    }

    /// Removes the drafts of `path` that killed processes left behind, durably when this returns.
    ///
    /// Call it only while no other process creates the file.
    static func removeDrafts(of path: String) throws(MasterKeyError) {
        let folder = folder(of: path)
        let prefix = "\(path.dropFirst(folder.count + 1))\(draftMark)"
        guard let listing = opendir(folder) else {
            if errno == ENOENT { return }
            throw .file(path: path, errno: errno)
        }
        defer { closedir(listing) }
        while let entry = readdir(listing) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasPrefix(prefix) { try remove("\(folder)/\(name)") }
        }
    }

    /// The part of a draft's name after the file's name; no copy made by a person has it.
    private static let draftMark = ".draft-"

    /// Writes the bytes to a file with a unique name and returns that name.
    private static func write(
        _ bytes: [UInt8], besides path: String
    ) throws(MasterKeyError) -> String {
        var template = Array("\(path)\(draftMark)XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw .file(path: path, errno: errno) }
        defer { close(descriptor) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let draft = String(
            decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let content = Array("\(hexEncoded(bytes))\n".utf8)
        let count = Glibc.write(descriptor, content, content.count)
        guard count == content.count, fchmod(descriptor, 0o600) == 0, fsync(descriptor) == 0 else {
            // A short write sets no `errno`; the disk had no room for the rest.
            let code = (0..<content.count).contains(count) ? ENOSPC : errno
            unlink(draft)
            throw .file(path: path, errno: code)
        }
        return draft
    }

    private static func folder(of path: String) -> String {
        String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }

    private static func syncFolder(of path: String) throws(MasterKeyError) {
        let folder = open(folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw .file(path: path, errno: errno) }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw .file(path: path, errno: errno) }
    }
}

/// Returns why a file is not usable as one of ours, in words, or `nil` if it is.
func ownershipProblem(of status: stat, owners: [uid_t]) -> String? {
    switch status.st_mode & S_IFMT {
    case S_IFREG: owners.contains(status.st_uid) ? nil : "it belongs to another user"
    case S_IFLNK: "it is a symbolic link"
    default: "it is no ordinary file"
    }
}
