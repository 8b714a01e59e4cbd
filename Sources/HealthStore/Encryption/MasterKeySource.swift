import ClarityScheduler
import HealthModel
import Platform
@preconcurrency import Glibc

/// Finds the master key.
///
/// It looks in this order: `$CREDENTIALS_DIRECTORY/clarity-jobs.key`, a variable in hex, and
/// `keys/master.key` in the state directory. A faulty key is an error; the search does not go on.
/// The variable is `CLARITY_JOBS_KEY`, unless `CLARITY_JOBS_KEY_VARIABLE` names another. That one
/// must then be set: a user who names a place for the key does not want one made elsewhere.
struct MasterKeySource: Sendable {
    /// A place that can hold the key.
    enum Place: Hashable, Sendable {
        case credential(path: String)
        case variable(String)
        /// `keys/master.key` in the state directory; the only place that this program writes.
        case file(path: String)
    }

    var stateDirectory: String
    /// The environment of the process; only the variables above matter.
    var environment: [String: String]

    /// Returns the key of the health data: the account's own that the found key wraps, or else the
    /// found key; `nil` if there is none yet.
    ///
    /// - Parameter isBegun: whether there is health data. That of an account of before has no key
    ///   of its own: it is encrypted with the key that was derived for it.
    func load(isBegun: Bool = true) throws(MasterKeyError) -> MasterKey? {
        guard let found = try find() else { return nil }
        if let own = try WrappedKey(at: ownPath)?.opened(by: found.key, at: ownPath) { return own }
        return isBegun || !wraps ? found.key : nil
    }

    /// Whether health data that begins now gets a key of its own, which the found key wraps.
    ///
    /// It is so for an account whose key somebody gives. What is derived from a given key can be
    /// derived again for as long as that key is somewhere; a wrapped key is gone once it is
    /// removed.
    var wraps: Bool { environment[MasterKeySource.wrapsName] != nil }

    /// Returns the key that a person or a service manager gives, or the one in the state directory,
    /// and its place.
    func find() throws(MasterKeyError) -> (key: MasterKey, place: Place)? {
        if let given = try findGiven() { return given }
        // Another process may move the key from its former path at any time.
        for path in [path, formerPath, path] {
            if let key = try KeyFile.read(path, as: .own) { return (key, .file(path: path)) }
        }
        return nil
    }

    /// Moves a key from the path of version 0.1.0 into the folder of keys, with the next one of a
    /// rotation that was interrupted.
    func moveFormer() throws(MasterKeyError) {
        for suffix in [KeyFile.nextSuffix, ""] {
            try KeyFile.move("\(formerPath)\(suffix)", to: "\(path)\(suffix)")
        }
    }

    /// Returns the key that a person or a service manager gives, not the one in the state
    /// directory.
    func findGiven() throws(MasterKeyError) -> (key: MasterKey, place: Place)? {
        if let directory = environment["CREDENTIALS_DIRECTORY"], !directory.isEmpty {
            // A service manager may let its group read a credential, but never others.
            let path = "\(directory)/clarity-jobs.key"
            if let key = try KeyFile.read(path, as: .credential) {
                return (key, .credential(path: path))
            }
        }
        if let (name, hex) = try variable() {
            return (try MasterKey(content: Array(hex.utf8), origin: "`\(name)`"), .variable(name))
        }
        return nil
    }

    /// Creates `keys/master.key`, or the account's own key in `account.key`, with mode 0600.
    /// Returns the key, or the one that another process created meanwhile.
    ///
    /// The file is durable before anything is encrypted with the key.
    func create() throws(MasterKeyError) -> MasterKey {
        let key = try MasterKey.random()
        let made: String
        if wraps, let found = try find() {
            made = ownPath
            if try KeyFile.make(made, WrappedKey(key, by: found.key).bytes) { return key }
        } else {
            made = path
            if try KeyFile.make(made, key.bytes) { return key }
        }
        guard let key = try load() else { throw .file(path: made, errno: ENOENT) }
        return key
    }

    /// Gives health data that is about to begin here the key of another place.
    func adopt(_ key: MasterKey) throws {
        guard let found = try find(), try load(isBegun: false)?.bytes != key.bytes else { return }
        _ = try StateDirectory(path: stateDirectory)
        try KeyFile.remove(ownPath)
        _ = try KeyFile.make(ownPath, WrappedKey(key, by: found.key).bytes)
    }

    /// The key has a folder of its own, because a unit can hide a folder from a service for good,
    /// and a file only until another is renamed to its name.
    var path: String { "\(stateDirectory)/keys/master.key" }
    /// The path of the key in version 0.1.0, and of one that a person restored beside the data.
    var formerPath: String { "\(stateDirectory)/master.key" }
    /// The file with the account's own key, wrapped.
    var ownPath: String { "\(stateDirectory)/\(MasterKeySource.ownName)" }

    static let ownName = "account.key"
    /// The variable that says that the given key is an account's, and wraps its own.
    static let wrapsName = "CLARITY_JOBS_KEY_WRAPS"
    /// The variable that names the one with the given key.
    static let pointer = "CLARITY_JOBS_KEY_VARIABLE"

    /// Destroys all keys in the state directory, which then opens with no key any more.
    func destroy() throws(MasterKeyError) {
        for path in [ownPath, path, formerPath].flatMap({ [$0, "\($0)\(KeyFile.nextSuffix)"] }) {
            try KeyFile.destroy(path)
            try KeyFile.removeDrafts(of: path)
        }
    }

    private func variable() throws(MasterKeyError) -> (name: String, hex: String)? {
        guard let name = environment[MasterKeySource.pointer], !name.isEmpty else {
            let name = "CLARITY_JOBS_KEY"
            return environment[name].flatMap { $0.isEmpty ? nil : (name, $0) }
        }
        return (name, try MasterKeySource.value(of: name, environment))
    }

    /// Returns the value of a named variable.
    ///
    /// - Throws: `noVariable` if it is empty or not set, `faultyVariable` if no variable can have
    ///   this name.
    static func value(
        of name: String, _ environment: [String: String]
    ) throws(MasterKeyError) -> String {
        guard isVariable(name) else { throw .faultyVariable(name) }
        guard let value = environment[name], !value.isEmpty else { throw .noVariable(name) }
        return value
    }

    /// Returns whether a variable can have this name: letters, digits and `_`, no digit first, at
    /// most 100 characters.
    static func isVariable(_ name: String) -> Bool {
        let isWord = name.utf8.areLettersDigits(or: "_")
        guard let first = name.utf8.first, isWord, name.utf8.count <= 100 else { return false }
        return !(0x30...0x39).contains(first)
    }
}

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

    /// Renames a file to a path where there is none, durably when this returns. A missing file is
    /// no error, and one stays where there are both.
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
