import CSodium

/// SHA-256 (FIPS 180-4).
enum SHA256 {
    /// Returns the digest of `bytes`, 32 bytes long.
    static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
        crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
        return digest
    }
}

/// HMAC-SHA-256 (RFC 2104) with a fixed key.
struct HMAC {
    private var keyed = crypto_auth_hmacsha256_state()

    init(key: [UInt8]) { crypto_auth_hmacsha256_init(&keyed, key, key.count) }

    /// Returns the code of `message`, 32 bytes long.
    func code(_ message: [UInt8]) -> [UInt8] {
        var state = keyed
        var code = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_BYTES))
        crypto_auth_hmacsha256_update(&state, message, UInt64(message.count))
        crypto_auth_hmacsha256_final(&state, &code)
        return code
    }
}
