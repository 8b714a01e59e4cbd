import CSodium
@preconcurrency import Glibc
import Platform

/// A fingerprint that shows whether a file still has the same content, whatever its name and times.
///
/// It is Poly1305 over all bytes of the file, six times as fast as BLAKE2b, under a random key that
/// is stored encrypted with the result. Nobody without the key can make another content with the
/// same result, or find one by chance: of two contents of 1 GB, chosen without the key, at most one
/// pair in 2^76 agrees (RFC 8439 section 3). Nobody ever sees key or result, so one key serves a
/// file for as long as its mark is stored.
public struct ContentMark: Hashable, Sendable {
    static let keyCount = Int(crypto_onetimeauth_KEYBYTES)
    static let codeCount = Int(crypto_onetimeauth_BYTES)
    /// How many bytes are read at once.
    private static let piece = 1 << 18

    let key: [UInt8]
    let code: [UInt8]

    init(key: [UInt8], code: [UInt8]) {
        self.key = key
        self.code = code
    }

    /// Computes the mark of an open file from its reading position on.
    ///
    /// Returns `nil` if the file cannot be read, or `isStopped` returns true.
    ///
    /// - Parameters:
    ///   - other: the mark to compare with, whose key is reused; `nil` for a new key.
    ///   - isStopped: called after each piece of 256 KiB.
    public init?(
        of descriptor: Int32, like other: ContentMark?, isStopped: () throws -> Bool
    ) rethrows {
        guard sodium_init() >= 0 else { return nil }
        key = other?.key ?? Array(Cipher.nonces(2).prefix(ContentMark.keyCount))
        var state = crypto_onetimeauth_state()
        crypto_onetimeauth_init(&state, key)
        var buffer = [UInt8](repeating: 0, count: ContentMark.piece)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count == 0 { break }
            if count < 0 {
                if errno == EINTR { continue }
                return nil
            }
            crypto_onetimeauth_update(&state, buffer, UInt64(count))
            if try isStopped() { return nil }
        }
        var code = [UInt8](repeating: 0, count: ContentMark.codeCount)
        crypto_onetimeauth_final(&state, &code)
        self.code = code
    }
}

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
