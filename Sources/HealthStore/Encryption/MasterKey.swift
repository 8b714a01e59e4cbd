import Platform
import CSodium
import ClarityScheduler
import Glibc

/// The key from which all others are derived; its 32 bytes never reach an error, log or output.
public struct MasterKey: Sendable {
    static let byteCount = 32

    let bytes: [UInt8]

    /// Parses 32 bytes, or 64 hex digits with optional white space around them.
    ///
    /// - Parameter origin: where the content comes from, for people.
    /// - Throws: `MasterKeyError.length` for any other content.
    init(content: [UInt8], origin: String) throws(MasterKeyError) {
        if content.count == MasterKey.byteCount {
            bytes = content
            return
        }
        let digits = content.drop { isWhiteSpace($0) }.reversed().drop { isWhiteSpace($0) }
        guard let decoded = hexDecoded(Array(digits.reversed())),
            decoded.count == MasterKey.byteCount
        else { throw .length(origin: origin, got: content.count) }
        bytes = decoded
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// Creates the key of bytes that were unwrapped; `nil` if they are no key.
    init?(unwrapped bytes: [UInt8]) {
        guard bytes.count == MasterKey.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Returns a new random key.
    static func random() throws(MasterKeyError) -> MasterKey {
        try prepareSodium()
        var bytes = [UInt8](repeating: 0, count: byteCount)
        randombytes_buf(&bytes, bytes.count)
        return MasterKey(bytes: bytes)
    }

    /// Returns 16 hex digits of a subkey: they tell this key from others, and reveal nothing more.
    func identifier() throws(MasterKeyError) -> String {
        hexEncoded(Array(try subkey(.naming).prefix(8)))
    }

    /// Returns the master key of an account, as independent of this key and of those of the other
    /// accounts as if it were random.
    ///
    /// Whoever has this key can make those of all accounts; an account's key reveals no other.
    func key(of account: AccountID) throws(MasterKeyError) -> MasterKey {
        let parent = try subkey(.accounts)
        let name = Array(account.rawValue.utf8)
        var bytes = [UInt8](repeating: 0, count: MasterKey.byteCount)
        let code = crypto_generichash(
            &bytes, bytes.count, name, UInt64(name.count), parent, parent.count)
        guard code == 0 else { throw .noCryptography }
        return MasterKey(bytes: bytes)
    }

    /// Returns the key that wraps an account's own (`WrappedKey`).
    func wrappingKey() throws(MasterKeyError) -> MasterKey {
        MasterKey(bytes: try subkey(.wrapping))
    }

    /// Returns the subkey for one purpose, as independent of the other subkeys as if it were
    /// random.
    func subkey(_ purpose: KeyPurpose) throws(MasterKeyError) -> [UInt8] {
        try prepareSodium()
        var subkey = [UInt8](repeating: 0, count: MasterKey.byteCount)
        // The context is 8 bytes (crypto_kdf_CONTEXTBYTES); the string's NUL is not read.
        let code = crypto_kdf_derive_from_key(
            &subkey, subkey.count, purpose.rawValue, "clarityj", bytes)
        guard code == 0 else { throw .noCryptography }
        return subkey
    }
}

extension MasterKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<redacted>" }
    public var debugDescription: String { "<redacted>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// What a subkey is for; a number is never reused for another purpose.
enum KeyPurpose: UInt64 {
    /// Encryption without padding, as in versions before 0.1.0.
    case unpaddedEncryption = 1
    /// Blind indexes that recognise a known value.
    case indexing = 2
    /// The authentication of the audit log's head.
    case heading = 3
    /// The identifier of a master key.
    case naming = 4
    /// Encryption of padded values, tokens and cached rows.
    case encryption = 5
    /// The master keys of accounts.
    case accounts = 6
    /// The password of an account's role in a database.
    case databaseLogin = 7
    /// The encryption of accounts' own keys.
    case wrapping = 8
}

/// Initialises libsodium; cheap if that is already done.
private func prepareSodium() throws(MasterKeyError) {
    guard sodium_init() >= 0 else { throw .noCryptography }
}

private func isWhiteSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

/// Why there is no usable master key.
public enum MasterKeyError: Error, Hashable, Sendable {
    /// The key has the wrong length; `got` counts the bytes that were found.
    case length(origin: String, got: Int)
    /// Others can read a file with the key.
    case openToOthers(path: String, mode: UInt32)
    /// A file with the key cannot be read or created.
    case file(path: String, errno: Int32)
    /// A file with the key cannot be trusted.
    case notOurs(path: String, problem: String)
    /// An account's own key, in a file or a database, opens with another given key than this one.
    case wrapped(place: String)
    /// The variable named for the key is empty or not set.
    case noVariable(String)
    /// The name given for the variable is not a possible variable name.
    case faultyVariable(String)
    /// libsodium does not work on this machine.
    case noCryptography
}

extension MasterKeyError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .length(let origin, let got):
            "the master key in \(origin) has \(got) bytes; wanted 32 bytes or 64 hex digits"
        case .openToOthers(let path, let mode):
            "the master key `\(path)` is open to others (mode 0\(String(mode, radix: 8))); "
                + "make it 0600"
        case .file(let path, let code):
            "cannot read or make the master key `\(path)`: \(SystemError(code: code).reason)"
        case .notOurs(let path, let problem): "cannot use the master key `\(path)`: \(problem)"
        case .wrapped(let place):
            "cannot open the account's key in `\(place)`: another master key wrapped it, or it is "
                + "damaged"
        case .noVariable(let name): "the variable `\(name)`, named for the master key, is not set"
        case .faultyVariable: "the variable named for the master key has no name of a variable"
        case .noCryptography: "libsodium does not work on this machine"
        }
    }
}

/// An account's own key: random, and encrypted with the key that a person or a service manager
/// gives.
///
/// Whoever has the given key and this one can read the account's data. Nobody can once this one is
/// gone, also not with the given key.
struct WrappedKey {
    private static let row = RowIdentity("account_key")

    /// What is stored.
    let bytes: [UInt8]

    /// Wraps a key.
    init(_ key: MasterKey, by given: MasterKey) throws(MasterKeyError) {
        bytes = try Cipher(given.wrappingKey()).encrypt(key.bytes, for: WrappedKey.row)
    }

    /// Takes what was stored.
    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Reads a file of the state directory; `nil` if there is none.
    ///
    /// - Throws: `MasterKeyError` as for a master key.
    init?(at path: String) throws(MasterKeyError) {
        guard let text = try KeyFile.content(of: path, as: .own) else { return nil }
        try self.init(text: text, of: path)
    }

    /// Reads the file of a backup, which may belong to anybody; `nil` if there is none.
    init?(of backup: Backup) throws {
        let path = "\(backup.path)/\(MasterKeySource.ownName)"
        guard let text = try DurableFile.text(of: path, atMost: 1024) else { return nil }
        try self.init(text: Array(text.utf8), of: path)
    }

    private init(text: [UInt8], of path: String) throws(MasterKeyError) {
        guard let bytes = hexDecoded(Array(text.prefix { $0 != UInt8(ascii: "\n") })) else {
            throw .wrapped(place: path)
        }
        self.bytes = bytes
    }

    /// Returns the account's key.
    ///
    /// - Parameter place: where it is, for messages.
    /// - Throws: `MasterKeyError.wrapped` if another key wrapped it.
    func opened(by given: MasterKey, at place: String) throws(MasterKeyError) -> MasterKey {
        guard let plain = try Cipher(given.wrappingKey()).opened(bytes, for: WrappedKey.row),
            let key = MasterKey(unwrapped: plain)
        else { throw .wrapped(place: place) }
        return key
    }
}

extension WrappedKey {
    /// Copies the key of a state directory, if it has one, to a new folder.
    ///
    /// - Returns: the files that were written, as a backup lists them.
    static func copy(
        from directory: String, to folder: String
    ) throws(MasterKeyError) -> [(name: String, version: Int)] {
        let name = MasterKeySource.ownName
        guard let key = try WrappedKey(at: "\(directory)/\(name)") else { return [] }
        _ = try KeyFile.make("\(folder)/\(name)", key.bytes)
        return [(name, 1)]
    }
}

/// How whoever has an account's master key logs in as the account's role in PostgreSQL.
///
/// The password follows from the key, so that nobody has to hand out another secret. The server has
/// only what SCRAM-SHA-256 (RFC 5802, RFC 7677) checks it by, from which neither follows.
struct DatabaseLogin {
    /// What RFC 7677 requires at least; the password is random enough for one.
    private static let iterations = 4096

    let password: String

    init(password: String) { self.password = password }

    init(_ key: MasterKey) throws(MasterKeyError) {
        password = hexEncoded(try key.subkey(.databaseLogin))
    }

    /// Returns what `ALTER ROLE ... PASSWORD` takes in place of the password (PostgreSQL's
    /// documentation, 53.8).
    func verifier(salt: [UInt8]) -> String {
        let password = Array(password.utf8)
        // PBKDF2 (RFC 8018, 5.2), of which one block is as long as the result.
        var block = HMAC.code(of: salt + [0, 0, 0, 1], key: password)
        var salted = block
        for _ in 1..<DatabaseLogin.iterations {
            block = HMAC.code(of: block, key: password)
            for index in salted.indices { salted[index] ^= block[index] }
        }
        let client = HMAC.code(of: Array("Client Key".utf8), key: salted)
        var stored = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
        crypto_hash_sha256(&stored, client, UInt64(client.count))
        let server = HMAC.code(of: Array("Server Key".utf8), key: salted)
        return "SCRAM-SHA-256$\(DatabaseLogin.iterations):\(salt.base64)"
            + "$\(stored.base64):\(server.base64)"
    }

    /// Returns a verifier with a random salt.
    func verifier() -> String {
        var salt = [UInt8](repeating: 0, count: 16)
        randombytes_buf(&salt, salt.count)
        return verifier(salt: salt)
    }
}

extension [UInt8] {
    /// The bytes in base64 (RFC 4648, section 4).
    package var base64: String {
        let variant = sodium_base64_VARIANT_ORIGINAL
        var text = [CChar](repeating: 0, count: sodium_base64_encoded_len(count, variant))
        sodium_bin2base64(&text, text.count, self, count, variant)
        return String(decoding: text.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
