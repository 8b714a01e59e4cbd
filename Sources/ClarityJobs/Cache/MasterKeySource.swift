@preconcurrency internal import Glibc

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
    /// The file appears whole or not at all: it is written and synced under another name first.
    func create() throws(MasterKeyError) -> MasterKey {
        let key = try MasterKey.random()
        let draft = "\(path).\(getpid())"
        try write(key, to: draft)
        defer { unlink(draft) }
        guard link(draft, path) == 0 else {
            let code = errno
            guard code == EEXIST, let key = try load() else {
                throw .file(path: path, errno: code)
            }
            return key
        }
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

    private func write(_ key: MasterKey, to draft: String) throws(MasterKeyError) {
        // Left behind by a process of the same number that was killed at this point.
        unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .file(path: path, errno: errno) }
        defer { close(descriptor) }
        let content = Array("\(hexEncoded(key.bytes))\n".utf8)
        guard Glibc.write(descriptor, content, content.count) == content.count,
            fsync(descriptor) == 0
        else { throw .file(path: path, errno: errno) }
    }
}
