@preconcurrency import Glibc

/// Finds the master key.
///
/// It looks in this order: `$CREDENTIALS_DIRECTORY/clarity-jobs.key`, a variable in hex, and
/// `master.key` in the state directory. A faulty key is an error; the search does not go on. The
/// variable is `CLARITY_JOBS_KEY`, unless `CLARITY_JOBS_KEY_VARIABLE` names another. That one must
/// then be set: a user who names a place for the key does not want one made elsewhere.
struct MasterKeySource: Sendable {
    /// A place that can hold the key.
    enum Place: Hashable, Sendable {
        case credential(path: String)
        case variable(String)
        /// `master.key` in the state directory; the only place that this program writes.
        case file(path: String)
    }

    var stateDirectory: String
    /// The environment of the process; only the variables above matter.
    var environment: [String: String]

    /// Returns the existing key, or `nil` if no place has one.
    func load() throws(MasterKeyError) -> MasterKey? { try find()?.key }

    /// Returns the existing key and its place.
    func find() throws(MasterKeyError) -> (key: MasterKey, place: Place)? {
        if let given = try findGiven() { return given }
        return try KeyFile.read(path, as: .own).map { ($0, .file(path: path)) }
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

    /// Creates `master.key` with mode 0600 and returns its key, or the one that another process
    /// created meanwhile.
    ///
    /// The file is durable before anything is encrypted with the key.
    func create() throws(MasterKeyError) -> MasterKey {
        let key = try MasterKey.random()
        if try KeyFile.make(path, key) { return key }
        guard let key = try load() else { throw .file(path: path, errno: ENOENT) }
        return key
    }

    var path: String { "\(stateDirectory)/master.key" }

    private func variable() throws(MasterKeyError) -> (name: String, hex: String)? {
        guard let name = environment["CLARITY_JOBS_KEY_VARIABLE"], !name.isEmpty else {
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
