import Platform
import CSodium

/// Encrypts values so that only the key decrypts them, and only for their own row.
///
/// The cipher is XChaCha20-Poly1305 with a random nonce of 24 bytes in front: there are so many
/// nonces that no two values ever share one. The row's identity is authenticated with the bytes, so
/// an encrypted value that is copied to another row does not decrypt there. The bytes are padded
/// first (`Padding`), so that the encrypted length does not reveal the value.
///
/// Versions before 0.1.0 encrypted without padding, under another subkey. 0.1.0 left their entries
/// of the audit log as they are, so such values still decrypt.
struct Cipher: Sendable {
    static let nonceCount = Int(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)
    private static let encryptionCount = Int(crypto_aead_xchacha20poly1305_ietf_ABYTES)
    /// The number of bytes by which an encrypted value is longer than the padded one.
    static let overhead = nonceCount + encryptionCount

    let encryptionKey: [UInt8]
    let unpaddedKey: [UInt8]
    private let headingKey: [UInt8]
    /// The index keys of all master keys so far, oldest first; the last one is the present key's.
    private(set) var indexKeys: [[UInt8]]

    init(_ key: MasterKey) throws(MasterKeyError) {
        encryptionKey = try key.subkey(.encryption)
        unpaddedKey = try key.subkey(.unpaddedEncryption)
        headingKey = try key.subkey(.heading)
        indexKeys = [try key.subkey(.indexing)]
    }

    /// Returns the cipher of the next master key, which continues this one's blind indexes.
    func followed(by key: MasterKey) throws(MasterKeyError) -> Cipher {
        try Cipher(key).with(formerKeys: indexKeys)
    }

    /// Returns the same cipher with the index keys of former master keys.
    ///
    /// - Parameter formerKeys: the former index keys, oldest first.
    func with(formerKeys: [[UInt8]]) -> Cipher {
        var cipher = self
        cipher.indexKeys = formerKeys + [indexKey]
        return cipher
    }

    private var indexKey: [UInt8] { indexKeys[indexKeys.count - 1] }

    /// Returns the bytes padded and encrypted for one row.
    func encrypt(_ plain: [UInt8], for row: RowIdentity) -> [UInt8] {
        var encrypted: [UInt8] = []
        encrypt(
            plain, in: Padding.sizes(of: plain, in: row.table), for: row.bytes,
            Cipher.nonces(1), 0, onto: &encrypted)
        return encrypted
    }

    /// Decrypts a value of this row and removes its padding.
    ///
    /// - Throws: `EncryptionError` if a bit was changed, or the row or the key is another one.
    func open(_ encrypted: [UInt8], for row: RowIdentity) throws(EncryptionError) -> [UInt8] {
        guard let plain = opened(encrypted, for: row) else { throw EncryptionError(row) }
        return plain
    }

    /// Decrypts a value of this row and parses it.
    ///
    /// - Throws: `EncryptionError` also if `parse` returns `nil`.
    func open<Content>(
        _ encrypted: [UInt8], for row: RowIdentity, as parse: ([UInt8]) -> Content?
    ) throws(EncryptionError) -> Content {
        guard let content = parse(try open(encrypted, for: row)) else { throw EncryptionError(row) }
        return content
    }

    /// Returns what `open` returns; `nil` if the bytes do not decrypt.
    func opened(_ encrypted: [UInt8], for row: RowIdentity) -> [UInt8]? {
        var plain: [UInt8] = []
        let isOpen = encrypted.withUnsafeBytes { open($0, for: row.bytes, into: &plain) }
        return isOpen ? plain : nil
    }

    /// Returns a keyed hash of the bytes: equal for equal bytes, and useless for testing a guess
    /// without the key.
    ///
    /// - Parameter count: 1 to 16 bytes of the hash.
    func blindIndex(_ bytes: [UInt8], count: Int) -> [UInt8] {
        indexKeys.reduce(bytes) { Cipher.hash($0, under: $1, count: count) }
    }

    /// Returns the blind index under this key of the bytes whose blind index under the former key
    /// is `blindIndex`.
    ///
    /// So a blind index survives a key rotation without its bytes, which a pruned sample no longer
    /// has.
    func blindIndex(following blindIndex: [UInt8]) -> [UInt8] {
        Cipher.hash(blindIndex, under: indexKey, count: blindIndex.count)
    }

    /// Returns the blind index of a text that identifies a row of a table.
    func blindIndex(of text: String, in table: String) -> [UInt8] {
        blindIndex(RowIdentity(table, text).bytes, count: 16)
    }

    /// Returns the keyed hash, as 32 hex digits, of a text that must not be stored unencrypted.
    ///
    /// - Parameter column: the table and column of the text, so that equal texts in two columns
    ///   have different blind indexes.
    func hexIndex(_ text: String, for column: String) -> String {
        hexEncoded(blindIndex(of: text, in: column))
    }

    /// Returns the hex blind index under this key of the text whose blind index under the former
    /// key is `hexIndex`; `nil` if that is not valid hex.
    func hexIndex(following hexIndex: String) -> String? {
        hexDecoded(Array(hexIndex.utf8)).map { hexEncoded(blindIndex(following: $0)) }
    }

    /// Returns what is stored in place of the backend's id of a metric, which is a hash of the
    /// value.
    func metricIndex(_ id: String) -> String { hexIndex(id, for: "metrics.id") }

    /// Returns what is stored in place of a source's state, which reveals the size of the source.
    func stampIndex(_ stamp: String) -> String { hexIndex(stamp, for: "sources.stamp") }

    /// Returns a keyed hash of 32 bytes over the head of the audit log; only the key can make it.
    func authenticate(_ bytes: [UInt8]) -> [UInt8] {
        Cipher.hash(bytes, under: headingKey, count: 32)
    }

    static func hash(_ bytes: [UInt8], under key: [UInt8], count: Int) -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: max(count, Int(crypto_generichash_BYTES_MIN)))
        crypto_generichash(&hash, hash.count, bytes, UInt64(bytes.count), key, key.count)
        return Array(hash.prefix(count))
    }
}

/// A value that does not decrypt: it or its row was changed, or another key encrypted it.
public struct EncryptionError: Error, Hashable, Sendable {
    /// The table of the row.
    public var table: String
    /// What tells the row from others of its table; `nil` if it is the only one.
    public var row: String?

    package init(table: String, row: String? = nil) {
        self.table = table
        self.row = row
    }
}

extension EncryptionError {
    init(_ row: RowIdentity) { self.init(table: row.table, row: row.label) }

    /// Whether the damaged value is the login, which a new login replaces.
    var isOfLogin: Bool { ["session", "session_record"].contains(table) }
}

extension EncryptionError: CustomStringConvertible {
    public var description: String {
        row.map { "the encrypted value of row `\($0)` in `\(table)` is damaged" }
            ?? "an encrypted value in `\(table)` is damaged"
    }
}

/// The table and the columns that identify the row of an encrypted value, as bytes unique to it.
struct RowIdentity: Sendable {
    let table: String
    /// A name of the row for people; never part of the encrypted value.
    let label: String?
    private(set) var bytes: [UInt8] = []

    /// Creates the identity of a row that these columns tell from others of its table.
    init(_ table: String, label: String? = nil, _ columns: any IdentityColumn...) {
        self.table = table
        self.label = label
        append(table)
        for column in columns { append(column) }
    }

    /// Creates the identity of a row that a number names.
    init(_ table: String, number: Int64, _ more: Int64...) {
        self.init(table, label: String(number))
        for number in [number] + more { append(number) }
    }

    mutating func append(_ column: some IdentityColumn) { bytes += column.identityBytes }
}

/// A column of a row's identity: a number, or bytes with their length in front, so that neighbouring
/// texts cannot be confused.
protocol IdentityColumn {
    var identityBytes: [UInt8] { get }
}

extension Int64: IdentityColumn {
    var identityBytes: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }
}

extension [UInt8]: IdentityColumn {
    var identityBytes: [UInt8] { Int64(count).identityBytes + self }
}

extension String: IdentityColumn {
    var identityBytes: [UInt8] { Array(utf8).identityBytes }
}

// The same blind indexes and encryption for many rows at once, without an array for each.

extension Cipher {
    /// Returns `blindIndex(bytes, count: 8)` as the number with these bytes in memory.
    func shortIndex(_ bytes: [UInt8]) -> UInt64 { shortIndex(following: firstIndex(bytes)) }

    /// Returns the blind index of 8 bytes under the first index key. A change of the master key
    /// leaves it as it is.
    func firstIndex(_ bytes: [UInt8]) -> UInt64 {
        bytes.withUnsafeBytes { Cipher.shortHash($0, under: indexKeys[0]) }
    }

    /// Returns a key of 16 bytes for one purpose, which a change of the master key leaves as it is.
    func firstKey(of purpose: String) -> [UInt8] {
        Cipher.hash(Array(purpose.utf8), under: indexKeys[0], count: 16)
    }

    /// Returns the blind index to which `firstIndex` belongs: each further key hashes the 8 bytes
    /// that the key before it made.
    func shortIndex(following first: UInt64) -> UInt64 {
        indexKeys.dropFirst().reduce(first) { former, key in
            withUnsafeBytes(of: former) { Cipher.shortHash($0, under: key) }
        }
    }

    private static func shortHash(_ bytes: UnsafeRawBufferPointer, under key: [UInt8]) -> UInt64 {
        // The shortest hash has 16 bytes.
        var hash: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &hash) { buffer in
            // Never `nil`: the tuple is not empty.
            guard let start = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                return
            }
            crypto_generichash(
                start, buffer.count, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
                UInt64(bytes.count), key, key.count)
        }
        return hash.0
    }

    /// Returns `count` nonces, drawn at once: one system call each would cost more than the
    /// encryption.
    static func nonces(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count * nonceCount) { buffer, initialized in
            if let start = buffer.baseAddress { randombytes_buf(start, buffer.count) }
            initialized = count * nonceCount
        }
    }

    /// Appends the result of `encrypt` for the bytes and the row to `target`.
    ///
    /// - Parameters:
    ///   - sizes: the sizes to one of which the bytes are padded.
    ///   - row: the bytes of the row's identity.
    ///   - nonce: the index of an unused nonce in `nonces`.
    func encrypt(
        _ plain: [UInt8], in sizes: Padding.Sizes, for row: [UInt8], _ nonces: [UInt8],
        _ nonce: Int, onto target: inout [UInt8]
    ) {
        let place = target.count
        let size = Padding.size(of: plain.count, in: sizes)
        target.append(
            contentsOf: nonces[nonce * Cipher.nonceCount..<(nonce + 1) * Cipher.nonceCount])
        target.append(contentsOf: plain)
        target.append(Padding.mark)
        target.append(
            contentsOf: repeatElement(
                0, count: size - plain.count - 1 + Cipher.overhead - Cipher.nonceCount))
        target.withUnsafeMutableBufferPointer { buffer in
            // Never `nil`: a nonce was just appended.
            guard let start = buffer.baseAddress.map({ $0 + place }) else { return }
            let text = start + Cipher.nonceCount
            // In place: libsodium permits the ciphertext to overlap the plaintext.
            crypto_aead_xchacha20poly1305_ietf_encrypt(
                text, nil, text, UInt64(size), row, UInt64(row.count), nil, start, encryptionKey)
        }
    }

    /// Decrypts a value of the row into `plain` and removes the padding.
    ///
    /// - Returns: `false` if it does not decrypt.
    func open(
        _ encrypted: UnsafeRawBufferPointer, for row: [UInt8], into plain: inout [UInt8]
    ) -> Bool {
        if decrypt(encrypted, for: row, under: encryptionKey, into: &plain) {
            return Padding.remove(from: &plain)
        }
        return decrypt(encrypted, for: row, under: unpaddedKey, into: &plain)
    }

    private func decrypt(
        _ encrypted: UnsafeRawBufferPointer, for row: [UInt8], under key: [UInt8],
        into plain: inout [UInt8]
    ) -> Bool {
        let count = encrypted.count - Cipher.overhead
        guard count >= 0, let start = encrypted.baseAddress?.assumingMemoryBound(to: UInt8.self)
        else { return false }
        if plain.count > count {
            plain.removeLast(plain.count - count)
        } else {
            plain += repeatElement(0, count: count - plain.count)
        }
        return crypto_aead_xchacha20poly1305_ietf_decrypt(
            &plain, nil, nil, start + Cipher.nonceCount,
            UInt64(encrypted.count - Cipher.nonceCount), row, UInt64(row.count), start, key) == 0
    }
}

/// Decrypts many rows one after the other, and reuses its buffers.
struct RowOpening {
    private let cipher: Cipher
    private var identity: [UInt8] = []
    /// The value that was decrypted last.
    private(set) var plain: [UInt8] = []

    init(_ cipher: Cipher) { self.cipher = cipher }

    /// Begins the identity of a row with its first bytes, as in `RowIdentity`.
    mutating func begin(_ bytes: [UInt8]) {
        identity.removeAll(keepingCapacity: true)
        identity += bytes
    }

    mutating func append(_ bytes: ArraySlice<UInt8>) { identity += bytes }

    mutating func append(_ number: Int64) { identity.append(littleEndian: number) }

    /// Appends text with its length in front.
    mutating func append(counted text: UnsafeRawBufferPointer) {
        append(Int64(text.count))
        identity += text
    }

    /// Decrypts a value of the row into `plain`.
    ///
    /// - Returns: `false` if it does not decrypt.
    mutating func open(_ encrypted: UnsafeRawBufferPointer) -> Bool {
        cipher.open(encrypted, for: identity, into: &plain)
    }
}
