import CSodium

/// Seals bytes so that only the key opens them, and only in the row for which they were sealed.
///
/// XChaCha20-Poly1305 with a random nonce of 24 bytes in front: so many values that no two ever
/// share one. The row's identity is authenticated with the bytes, so that a sealed value copied into
/// another row does not open there.
struct Sealer: Sendable {
    private static let nonceCount = Int(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)
    private static let sealCount = Int(crypto_aead_xchacha20poly1305_ietf_ABYTES)

    private let sealingKey: [UInt8]
    private let taggingKey: [UInt8]

    init(_ key: MasterKey) throws(MasterKeyError) {
        sealingKey = try key.subkey(.sealing)
        taggingKey = try key.subkey(.tagging)
    }

    /// The bytes, sealed for one row; 40 bytes longer.
    func seal(_ plain: [UInt8], for row: RowIdentity) -> [UInt8] {
        var sealed = [UInt8](
            repeating: 0, count: Sealer.nonceCount + plain.count + Sealer.sealCount)
        sealed.withUnsafeMutableBufferPointer { buffer in
            // Never nil: the array holds at least a nonce.
            guard let start = buffer.baseAddress else { return }
            randombytes_buf(start, Sealer.nonceCount)
            crypto_aead_xchacha20poly1305_ietf_encrypt(
                start + Sealer.nonceCount, nil, plain, UInt64(plain.count), row.bytes,
                UInt64(row.bytes.count), nil, start, sealingKey)
        }
        return sealed
    }

    /// What was sealed for this row.
    ///
    /// - Throws: `SealingError` when a bit differs, the row is another, or the key is.
    func open(_ sealed: [UInt8], for row: RowIdentity) throws(SealingError) -> [UInt8] {
        let count = sealed.count - Sealer.nonceCount - Sealer.sealCount
        guard count >= 0 else { throw SealingError(table: row.table) }
        var plain = [UInt8](repeating: 0, count: count)
        let code = sealed.withUnsafeBufferPointer { buffer -> Int32 in
            guard let start = buffer.baseAddress else { return -1 }
            return crypto_aead_xchacha20poly1305_ietf_decrypt(
                &plain, nil, nil, start + Sealer.nonceCount,
                UInt64(buffer.count - Sealer.nonceCount), row.bytes, UInt64(row.bytes.count),
                start, sealingKey)
        }
        guard code == 0 else { throw SealingError(table: row.table) }
        return plain
    }

    /// A keyed hash of the bytes: the same for the same bytes, and without the key no way to test a
    /// guess of them.
    ///
    /// - Parameter count: 1 to 16 bytes of the hash.
    func tag(_ bytes: [UInt8], count: Int) -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: Int(crypto_generichash_BYTES_MIN))
        crypto_generichash(
            &hash, hash.count, bytes, UInt64(bytes.count), taggingKey, taggingKey.count)
        return Array(hash.prefix(count))
    }
}

/// A sealed value that does not open: it or its row was changed, or sealed with another key.
public struct SealingError: Error, Hashable, Sendable {
    /// The table whose row it is.
    public var table: String
}

extension SealingError: CustomStringConvertible {
    public var description: String { "a sealed value in `\(table)` is damaged" }
}

/// The table and the columns for which a value is sealed, as bytes that no other row has.
struct RowIdentity: Sendable {
    let table: String
    private(set) var bytes: [UInt8] = []

    init(_ table: String) {
        self.table = table
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
