import CSodium

/// SHA-256 (FIPS 180-4), which checks that a copy is what was written; `sha256sum` gives the same.
struct SHA256 {
    private var state = crypto_hash_sha256_state()

    init() { crypto_hash_sha256_init(&state) }

    /// Returns the digest of bytes as 64 hexadecimal digits.
    static func hex(of bytes: some Sequence<UInt8>) -> String {
        var digest = SHA256()
        Array(bytes).withUnsafeBytes { digest.update($0) }
        return digest.finish()
    }

    /// Adds bytes to the digest.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        let bytes = bytes.assumingMemoryBound(to: UInt8.self)
        crypto_hash_sha256_update(&state, bytes.baseAddress, UInt64(bytes.count))
    }

    /// Returns the digest of all bytes as 64 hexadecimal digits; no bytes may be added afterwards.
    mutating func finish() -> String {
        var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
        crypto_hash_sha256_final(&state, &digest)
        return digest.map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0\(digits)" : digits
        }.joined()
    }
}
