import CSodium

// The same blind indexes and encryption for many rows at once, without an array for each.

extension Cipher {
    /// Returns `blindIndex(bytes, count: 8)` as the number with these bytes in memory.
    func shortIndex(_ bytes: [UInt8]) -> UInt64 { shortIndex(following: firstIndex(bytes)) }

    /// Returns the blind index of 8 bytes under the first index key. A change of the master key
    /// leaves it as it is.
    func firstIndex(_ bytes: [UInt8]) -> UInt64 {
        bytes.withUnsafeBytes { Cipher.shortHash($0, under: indexKeys[0]) }
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
    ///   - floor: the smallest size to which the bytes are padded.
    ///   - row: the bytes of the row's identity.
    ///   - nonce: the index of an unused nonce in `nonces`.
    func encrypt(
        _ plain: [UInt8], atLeast floor: Int, for row: [UInt8], _ nonces: [UInt8], _ nonce: Int,
        onto target: inout [UInt8]
    ) {
        let place = target.count
        let size = Padding.size(of: plain.count, atLeast: floor)
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
