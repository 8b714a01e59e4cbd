import Platform
import CSodium

/// The signature of a message to a server that shares a key with the user: HMAC-SHA256 (RFC 2104).
public enum MessageSignature {
    /// Returns the signature in hexadecimal digits.
    ///
    /// - Throws: `MasterKeyError.noCryptography` if libsodium cannot start.
    public static func hmacSHA256(
        of message: [UInt8], key: [UInt8]
    ) throws(MasterKeyError) -> String {
        guard sodium_init() >= 0 else { throw .noCryptography }
        return hexEncoded(HMAC.code(of: message, key: key))
    }
}

/// HMAC-SHA256 (RFC 2104); libsodium must have started.
enum HMAC {
    static func code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
        var state = crypto_auth_hmacsha256_state()
        crypto_auth_hmacsha256_init(&state, key, key.count)
        crypto_auth_hmacsha256_update(&state, message, UInt64(message.count))
        var code = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_BYTES))
        crypto_auth_hmacsha256_final(&state, &code)
        return code
    }
}
