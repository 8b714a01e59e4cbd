import CSodium

/// The key from which all others are derived; 32 bytes that never reach an error, log or output.
public struct MasterKey: Sendable {
    static let byteCount = 32

    let bytes: [UInt8]

    /// Takes 32 bytes, or 64 hex digits with white space around them.
    ///
    /// - Throws: `MasterKeyError.length` for any other count of bytes; `origin` names the place for
    ///   people.
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

    /// A key that nobody had before.
    static func random() throws(MasterKeyError) -> MasterKey {
        try prepareSodium()
        var bytes = [UInt8](repeating: 0, count: byteCount)
        randombytes_buf(&bytes, bytes.count)
        return MasterKey(bytes: bytes)
    }

    /// Tells this key from others, and nothing more: 16 hex digits made of a subkey.
    func identifier() throws(MasterKeyError) -> String {
        hexEncoded(Array(try subkey(.naming).prefix(8)))
    }

    /// The subkey for one purpose: as independent of its siblings as if it were random.
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

/// What a subkey is for; a number is never given to another purpose.
enum KeyPurpose: UInt64 {
    /// Sealing of values as releases up to 0.1.0 did it, without padding.
    case unpaddedSealing = 1
    /// Tags by which a known value is recognised.
    case tagging = 2
    /// The head of the audit log.
    case heading = 3
    /// The name by which a key is told from others.
    case naming = 4
    /// Sealing of padded values, tokens and cached rows.
    case sealing = 5
}

/// Makes libsodium ready; cheap when it already is.
private func prepareSodium() throws(MasterKeyError) {
    guard sodium_init() >= 0 else { throw .noCryptography }
}

private func isWhiteSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
