import Platform
@preconcurrency import Glibc

/// Finds the master key.
///
/// It looks in this order: `$CREDENTIALS_DIRECTORY/clarity-jobs.key`, a variable in hex, and
/// `keys/master.key` in the state directory. A faulty key is an error; the search does not go on. The
/// variable is `CLARITY_JOBS_KEY`, unless `CLARITY_JOBS_KEY_VARIABLE` names another. That one must
/// then be set: a user who names a place for the key does not want one made elsewhere.
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
    /// - Parameter isBegun: whether there is health data. That of an account of before has no key of
    ///   its own: it is sealed with the key that was derived for it.
    func load(isBegun: Bool = true) throws(MasterKeyError) -> MasterKey? {
        guard let found = try find() else { return nil }
        if let own = try WrappedKey(at: ownPath)?.opened(by: found.key, at: ownPath) { return own }
        return isBegun || !wraps ? found.key : nil
    }

    /// Whether health data that begins now gets a key of its own, which the found key wraps.
    ///
    /// It is so for an account whose key somebody gives. What is derived from a given key can be
    /// derived again for as long as that key is somewhere; a wrapped key is gone once it is removed.
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

    /// Returns the key that a person or a service manager gives, not the one in the state directory.
    func findGiven() throws(MasterKeyError) -> (key: MasterKey, place: Place)? {
        if let directory = environment["CREDENTIALS_DIRECTORY"], !directory.isEmpty {
            // A service manager may let its group read a credential, but never others.
            let path = "\(directory)/clarity-jobs.key"
            if let key = try KeyFile.read(path, as: .credential) {
                return (key, .credential(path: path))
            }
        }
        if let (name, hex) = try variable() {
            return (
                try MasterKey(content: Array(hex.utf8), origin: "`\(name)`"), .variable(name)
            )
        }
        return nil
    }

    /// Creates `keys/master.key`, or the account's own key in `account.key`, with mode 0600. Returns the
    /// key, or the one that another process created meanwhile.
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

    /// The key has a folder of its own, because a unit can hide a folder from a service for good, and
    /// a file only until another is renamed to its name.
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
        let isWord = name.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"): true
            default: false
            }
        }
        guard let first = name.utf8.first, isWord, name.utf8.count <= 100 else { return false }
        return !(0x30...0x39).contains(first)
    }
}
