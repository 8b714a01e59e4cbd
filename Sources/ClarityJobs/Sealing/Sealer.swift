import CSodium

/// Seals bytes so that only the key opens them, and only in the row for which they were sealed.
///
/// XChaCha20-Poly1305 with a random nonce of 24 bytes in front: so many values that no two ever
/// share one. The row's identity is authenticated with the bytes, so that a sealed value copied into
/// another row does not open there. The bytes are padded first (`Padding`): the length of a sealed
/// value says nothing about the value.
///
/// Earlier releases sealed without padding, under another subkey. Such a value still opens.
struct Sealer: Sendable {
    static let nonceCount = Int(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)
    private static let sealCount = Int(crypto_aead_xchacha20poly1305_ietf_ABYTES)
    /// By how many bytes what is sealed is longer.
    static let overhead = nonceCount + sealCount

    let sealingKey: [UInt8]
    let unpaddedKey: [UInt8]
    private let headingKey: [UInt8]
    /// The tagging keys of all master keys that there were, oldest first; the last is the key's own.
    private(set) var taggingKeys: [[UInt8]]

    init(_ key: MasterKey) throws(MasterKeyError) {
        sealingKey = try key.subkey(.sealing)
        unpaddedKey = try key.subkey(.unpaddedSealing)
        headingKey = try key.subkey(.heading)
        taggingKeys = [try key.subkey(.tagging)]
    }

    /// The sealer of the master key that follows this one's.
    func followed(by key: MasterKey) throws(MasterKeyError) -> Sealer {
        try Sealer(key).with(formerKeys: taggingKeys)
    }

    /// The same sealer after other master keys.
    ///
    /// - Parameter formerKeys: their tagging keys, oldest first.
    func with(formerKeys: [[UInt8]]) -> Sealer {
        var sealer = self
        sealer.taggingKeys = formerKeys + [taggingKey]
        return sealer
    }

    private var taggingKey: [UInt8] { taggingKeys[taggingKeys.count - 1] }

    /// The bytes, padded and sealed for one row.
    func seal(_ plain: [UInt8], for row: RowIdentity) -> [UInt8] {
        var sealed: [UInt8] = []
        seal(
            plain, atLeast: Padding.floor(of: plain, in: row.table), for: row.bytes,
            Sealer.nonces(1), 0, onto: &sealed)
        return sealed
    }

    /// What was sealed for this row, without its padding.
    ///
    /// - Throws: `SealingError` when a bit differs, the row is another, or the key is.
    func open(_ sealed: [UInt8], for row: RowIdentity) throws(SealingError) -> [UInt8] {
        var plain: [UInt8] = []
        let isOpen = sealed.withUnsafeBytes { open($0, for: row.bytes, into: &plain) }
        guard isOpen else { throw SealingError(row) }
        return plain
    }

    /// Whether the bytes were sealed for this row with this key.
    func opens(_ sealed: [UInt8], for row: RowIdentity) -> Bool {
        do throws(SealingError) {
            _ = try open(sealed, for: row)
            return true
        } catch {
            return false
        }
    }

    /// A keyed hash of the bytes: the same for the same bytes, and without the key no way to test a
    /// guess of them.
    ///
    /// - Parameter count: 1 to 16 bytes of the hash.
    func tag(_ bytes: [UInt8], count: Int) -> [UInt8] {
        taggingKeys.reduce(bytes) { Sealer.hash($0, under: $1, count: count) }
    }

    /// What `tag` gives for the bytes whose tag under the key before this one is `tag`.
    ///
    /// So a tag outlives its key without the bytes: of a pruned sample nothing else is left.
    func tag(following tag: [UInt8]) -> [UInt8] {
        Sealer.hash(tag, under: taggingKey, count: tag.count)
    }

    /// The keyed hash of a text that must not stand in the clear, as 32 hex digits.
    ///
    /// - Parameter column: the table and column that it is for, so that equal texts of two columns
    ///   look different.
    func hexTag(_ text: String, for column: String) -> String {
        var identity = RowIdentity(column)
        identity.append(text)
        return hexEncoded(tag(identity.bytes, count: 16))
    }

    /// What `hexTag` gives for the text whose tag under the key before this one is `hexTag`; `nil` when
    /// that is none.
    func hexTag(following hexTag: String) -> String? {
        hexDecoded(Array(hexTag.utf8)).map { hexEncoded(tag(following: $0)) }
    }

    /// What the file has in the place of the backend's id of a metric: the id is a hash of the value.
    func metricTag(_ id: String) -> String { hexTag(id, for: "metrics.id") }

    /// What the file has in the place of a source's state: it tells the size of the source.
    func stampTag(_ stamp: String) -> String { hexTag(stamp, for: "sources.stamp") }

    /// A keyed hash of 32 bytes over the head of the audit log, which only the key can make.
    func authenticate(_ bytes: [UInt8]) -> [UInt8] {
        Sealer.hash(bytes, under: headingKey, count: 32)
    }

    private static func hash(_ bytes: [UInt8], under key: [UInt8], count: Int) -> [UInt8] {
        var hash = [UInt8](
            repeating: 0, count: max(count, Int(crypto_generichash_BYTES_MIN)))
        crypto_generichash(&hash, hash.count, bytes, UInt64(bytes.count), key, key.count)
        return Array(hash.prefix(count))
    }
}

/// A sealed value that does not open: it or its row was changed, or sealed with another key.
public struct SealingError: Error, Hashable, Sendable {
    /// The table whose row it is.
    public var table: String
    /// What tells the row from others of its table; `nil` for the only one.
    public var row: String?

    init(table: String, row: String? = nil) {
        self.table = table
        self.row = row
    }

    init(_ row: RowIdentity) { self.init(table: row.table, row: row.label) }

    /// Whether it is the login that is damaged, which another one puts right.
    var isOfLogin: Bool { ["session", "session_record"].contains(table) }
}

extension SealingError: CustomStringConvertible {
    public var description: String {
        row.map { "the sealed value of row `\($0)` in `\(table)` is damaged" }
            ?? "a sealed value in `\(table)` is damaged"
    }
}

/// The table and the columns for which a value is sealed, as bytes that no other row has.
struct RowIdentity: Sendable {
    let table: String
    /// What people may call the row; nothing that is sealed.
    let label: String?
    private(set) var bytes: [UInt8] = []

    init(_ table: String, label: String? = nil) {
        self.table = table
        self.label = label
        append(table)
    }

    /// Adds text, with its length in front so that two neighbours cannot be read as others.
    mutating func append(_ text: String) {
        append(Int64(text.utf8.count))
        bytes += text.utf8
    }

    mutating func append(_ number: Int64) { bytes.append(littleEndian: number) }

    mutating func append(_ more: [UInt8]) {
        append(Int64(more.count))
        bytes += more
    }
}
