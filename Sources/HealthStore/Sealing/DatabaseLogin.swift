import Platform
import CSodium

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
        return "SCRAM-SHA-256$\(DatabaseLogin.iterations):\(base64(salt))"
            + "$\(base64(stored)):\(base64(server))"
    }

    /// Returns a verifier with a random salt.
    func verifier() -> String {
        var salt = [UInt8](repeating: 0, count: 16)
        randombytes_buf(&salt, salt.count)
        return verifier(salt: salt)
    }
}

private func base64(_ bytes: [UInt8]) -> String {
    let variant = sodium_base64_VARIANT_ORIGINAL
    var text = [CChar](repeating: 0, count: sodium_base64_encoded_len(bytes.count, variant))
    sodium_bin2base64(&text, text.count, bytes, bytes.count, variant)
    return String(decoding: text.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
}
