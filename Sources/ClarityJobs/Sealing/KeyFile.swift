@preconcurrency import Glibc

/// A file that holds a master key and nothing else.
enum KeyFile {
    /// Whose file it is.
    enum Kind {
        /// In the state directory: this user's own, no symbolic link, closed to everybody else.
        case own
        /// Given by a service manager or a person: this user's or root's, closed to all but their
        /// groups.
        case credential
    }

    /// The file's first bytes, more than any key has; `nil` when there is no such file.
    static func read(_ path: String, as kind: Kind) throws(MasterKeyError) -> [UInt8]? {
        // A container's manager gives its credentials as links.
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
        var content = [UInt8](repeating: 0, count: 1024)
        let count = Glibc.read(descriptor, &content, content.count)
        guard count >= 0 else { throw .file(path: path, errno: errno) }
        return Array(content[..<count])
    }

    /// Makes the file with mode 0600; `false` when there is one already.
    ///
    /// It appears whole or not at all: it is written and synced under another name first. It is
    /// there to stay when this returns, whoever made it: its folder is synced too.
    static func make(_ path: String, _ key: MasterKey) throws(MasterKeyError) -> Bool {
        let draft = try write(key, besides: path)
        defer { unlink(draft) }
        let isMade = link(draft, path) == 0
        guard isMade || errno == EEXIST else { throw .file(path: path, errno: errno) }
        try syncFolder(of: path)
        return isMade
    }

    /// Puts the file `next` in the place of `path`, for good when this returns.
    static func replace(_ path: String, by next: String) throws(MasterKeyError) {
        guard rename(next, path) == 0 else { throw .file(path: path, errno: errno) }
        try syncFolder(of: path)
    }

    /// Removes the file, for good when this returns; one that is not there is no error.
    static func remove(_ path: String) throws(MasterKeyError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw .file(path: path, errno: errno) }
        try syncFolder(of: path)
    }

    /// Removes the drafts of `path` that killed processes left behind, for good when this returns.
    ///
    /// To be called while no other process makes the file.
    static func removeDrafts(of path: String) throws(MasterKeyError) {
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        let prefix = "\(path[slash...].drop { $0 == "/" })\(draftMark)"
        let folder = String(path[..<slash])
        guard let listing = opendir(folder) else { throw .file(path: path, errno: errno) }
        defer { closedir(listing) }
        while let entry = readdir(listing) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasPrefix(prefix) { try remove("\(folder)/\(name)") }
        }
    }

    /// What a draft's name has behind the file's; no copy of a person's has it.
    private static let draftMark = ".draft-"

    /// Writes the key to a file of a name that no other process has, and returns the name.
    private static func write(
        _ key: MasterKey, besides path: String
    ) throws(MasterKeyError) -> String {
        var template = Array("\(path)\(draftMark)XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw .file(path: path, errno: errno) }
        defer { close(descriptor) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let draft = String(
            decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let content = Array("\(hexEncoded(key.bytes))\n".utf8)
        let count = Glibc.write(descriptor, content, content.count)
        guard count == content.count, fchmod(descriptor, 0o600) == 0, fsync(descriptor) == 0 else {
            // A write that was cut short sets no number; there was no room for the rest.
            let code = (0..<content.count).contains(count) ? ENOSPC : errno
            unlink(draft)
            throw .file(path: path, errno: code)
        }
        return draft
    }

    private static func syncFolder(of path: String) throws(MasterKeyError) {
        let name = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        let folder = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw .file(path: path, errno: errno) }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw .file(path: path, errno: errno) }
    }
}

/// What speaks against using a file as one of ours, in words; `nil` when nothing does.
func ownershipProblem(of status: stat, owners: [uid_t]) -> String? {
    switch status.st_mode & S_IFMT {
    case S_IFREG: owners.contains(status.st_uid) ? nil : "it belongs to another user"
    case S_IFLNK: "it is a symbolic link"
    default: "it is no ordinary file"
    }
}
