@preconcurrency import Glibc

/// Where the master key is looked for.
///
/// In this order: `$CREDENTIALS_DIRECTORY/clarity-jobs.key`, the variable `CLARITY_JOBS_KEY` in hex,
/// `master.key` in the state directory. A place that holds a faulty key is an error and not passed
/// over.
struct MasterKeySource: Sendable {
    var stateDirectory: String
    /// The process's environment, of which two variables matter.
    var environment: [String: String]

    /// The key that exists; `nil` when no place has one.
    func load() throws(MasterKeyError) -> MasterKey? {
        if let directory = environment["CREDENTIALS_DIRECTORY"], !directory.isEmpty {
            // A service manager may let its group read a credential, never others.
            let path = "\(directory)/clarity-jobs.key"
            if let content = try read(path, forbidden: 0o007) {
                return try MasterKey(content: content, origin: "`\(path)`")
            }
        }
        if let hex = environment["CLARITY_JOBS_KEY"], !hex.isEmpty {
            return try MasterKey(content: Array(hex.utf8), origin: "`CLARITY_JOBS_KEY`")
        }
        guard let content = try read(path, forbidden: 0o077) else { return nil }
        return try MasterKey(content: content, origin: "`\(path)`")
    }

    /// Makes `master.key` of mode 0600 and returns its key, or the one that another process made
    /// meanwhile.
    ///
    /// The file appears whole or not at all: it is written and synced under another name first. It
    /// is there to stay before anything is sealed with it: its folder is synced too.
    func create() throws(MasterKeyError) -> MasterKey {
        let key = try MasterKey.random()
        let draft = try write(key)
        defer { unlink(draft) }
        guard link(draft, path) == 0 else {
            let code = errno
            guard code == EEXIST, let key = try load() else {
                throw .file(path: path, errno: code)
            }
            try syncFolder()
            return key
        }
        try syncFolder()
        return key
    }

    private var path: String { "\(stateDirectory)/master.key" }

    /// The file's first bytes, more than any key has; `nil` when there is no such file.
    private func read(_ path: String, forbidden: mode_t) throws(MasterKeyError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .file(path: path, errno: errno)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .file(path: path, errno: errno) }
        guard status.st_mode & forbidden == 0 else {
            throw .openToOthers(path: path, mode: status.st_mode & 0o777)
        }
        var content = [UInt8](repeating: 0, count: 1024)
        let count = Glibc.read(descriptor, &content, content.count)
        guard count >= 0 else { throw .file(path: path, errno: errno) }
        return Array(content[..<count])
    }

    /// Writes the key to a file of a name that no other process has, and returns the name.
    private func write(_ key: MasterKey) throws(MasterKeyError) -> String {
        var template = Array("\(path).XXXXXX".utf8CString)
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

    private func syncFolder() throws(MasterKeyError) {
        let folder = open(stateDirectory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw .file(path: path, errno: errno) }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw .file(path: path, errno: errno) }
    }
}
