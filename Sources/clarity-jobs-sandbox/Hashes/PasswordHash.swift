import CSodium

/// The stored form of a password: PBKDF2 with HMAC-SHA-256 (RFC 8018) and its own salt.
///
/// The users of this server are invented. The number of iterations is therefore chosen for a quick
/// start, not to protect real passwords.
struct PasswordHash: Hashable, Sendable {
    var salt: [UInt8]
    var iterations: Int
    var digest: [UInt8]

    /// Hashes a new password.
    init(_ password: String, salt: [UInt8], iterations: Int) {
        self.salt = salt
        self.iterations = iterations
        digest = PBKDF2.key(
            password: Array(password.utf8), salt: salt, iterations: iterations, count: 32)
    }

    /// Creates a hash from its stored parts.
    init(salt: [UInt8], iterations: Int, digest: [UInt8]) {
        self.salt = salt
        self.iterations = iterations
        self.digest = digest
    }

    /// Returns whether `password` is the hashed one; a near miss takes as long as any other.
    func matches(_ password: String) -> Bool {
        let other = PasswordHash(password, salt: salt, iterations: iterations)
        guard other.digest.count == digest.count else { return false }
        return sodium_memcmp(other.digest, digest, digest.count) == 0
    }
}

/// Key derivation with HMAC-SHA-256.
enum PBKDF2 {
    /// Returns `count` bytes derived from `password` and `salt` in `iterations` rounds, at least
    /// one.
    static func key(password: [UInt8], salt: [UInt8], iterations: Int, count: Int) -> [UInt8] {
        let mac = HMAC(key: password)
        var key: [UInt8] = []
        var block: UInt32 = 1
        while key.count < count {
            let number = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: block >> $0) }
            var round = mac.code(salt + number)
            var sum = round
            for _ in 1..<max(1, iterations) {
                round = mac.code(round)
                for index in sum.indices { sum[index] ^= round[index] }
            }
            key += sum
            block += 1
        }
        return Array(key.prefix(count))
    }
}

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
