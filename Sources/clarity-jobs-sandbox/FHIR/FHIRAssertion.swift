import COpenSSL
import JSON
import Platform

/// A client's assertion: a signed JWT (RFC 7523; SMART Backend Services, "Authenticating to the
/// Token endpoint").
struct FHIRAssertion {
    private let header: JSON
    private let claims: JSON
    private let signed: [UInt8]
    private let signature: [UInt8]

    /// Parses an assertion. Texts that are none become one without claims, which is refused.
    init(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let isWhole = parts.count == 3
        header = isWhole ? Base64.jsonText(parts[0]) ?? .null : .null
        claims = isWhole ? Base64.jsonText(parts[1]) ?? .null : .null
        signed = isWhole ? Array("\(parts[0]).\(parts[1])".utf8) : []
        signature = isWhole ? Base64.decode(parts[2]) ?? [] : []
    }

    /// Returns the first rule that the assertion breaks; `nil` if it breaks none.
    func refusal(
        client: String, keys file: String, endpoint: String, now: Timestamp,
        used: inout Set<String>
    ) throws -> String? {
        guard header["typ"]?.text == "JWT" else { return "typ \(show(header["typ"]))" }
        guard let algorithm = header["alg"]?.text, ["RS384", "ES384"].contains(algorithm) else {
            return "alg \(show(header["alg"]))"
        }
        for name in ["iss", "sub"] where claims[name]?.text != client {
            return "\(name) \(show(claims[name]))"
        }
        guard claims["aud"]?.text == endpoint else { return "aud \(show(claims["aud"]))" }
        let seconds = Double(now.milliseconds) / 1000
        guard let end = claims["exp"]?.double, end > seconds, end <= seconds + 300 else {
            return "exp \(show(claims["exp"])), now \(Int64(seconds))"
        }
        guard let id = claims["jti"]?.text, !id.isEmpty, !used.contains(id) else {
            return "jti \(show(claims["jti"])) is missing or was used"
        }
        let set = try JSONParser.parse(WholeFile.bytes(of: file, atMost: 1 << 20))
        let key = set["keys"]?.list.first { $0["kid"] == header["kid"] }
        guard let key, header["kid"]?.text != nil else { return "kid \(show(header["kid"]))" }
        guard PublicKey(key, algorithm: algorithm)?.verifies(signature, of: signed) == true else {
            return "the signature does not fit the key"
        }
        used.insert(id)
        return nil
    }

    private func show(_ value: JSON?) -> String { value?.line ?? "missing" }
}

/// A public key of a JWK set (RFC 7517, RFC 7518), which verifies with libcrypto.
final class PublicKey {
    private let key: OpaquePointer
    private let isCurve: Bool

    /// Creates the key; `nil` if the JWK has no key for the algorithm, `RS384` or `ES384`.
    init?(_ jwk: JSON, algorithm: String) {
        func number(_ name: String) -> [UInt8]? { jwk[name]?.text.flatMap(Base64.decode) }
        isCurve = algorithm == "ES384"
        let (kind, numbers): ([UInt8], [UInt8])
        if isCurve {
            guard jwk["kty"]?.text == "EC", jwk["crv"]?.text == "P-384", let x = number("x"),
                let y = number("y"), x.count == 48, y.count == 48
            else { return nil }
            // The identifiers of keys on curves, and of this curve (RFC 5480, section 2.1.1).
            kind =
                DER.value(0x06, [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01])
                + DER.value(0x06, [0x2B, 0x81, 0x04, 0x00, 0x22])
            numbers = [4] + x + y
        } else {
            guard jwk["kty"]?.text == "RSA", let n = number("n"), let e = number("e") else {
                return nil
            }
            // The identifier of RSA keys, and no parameters (RFC 3279, section 2.3.1).
            kind =
                DER.value(0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01])
                + DER.value(0x05, [])
            numbers = DER.value(0x30, DER.number(n) + DER.number(e))
        }
        // SubjectPublicKeyInfo (RFC 5280, section 4.1).
        let info = DER.value(0x30, DER.value(0x30, kind) + DER.value(0x03, [0] + numbers))
        let made = info.withUnsafeBufferPointer { buffer in
            var place = buffer.baseAddress
            return d2i_PUBKEY(nil, &place, buffer.count)
        }
        guard let made else { return nil }
        key = made
    }

    deinit { EVP_PKEY_free(key) }

    /// Returns whether a signature with SHA-384 is one of these bytes.
    func verifies(_ signature: [UInt8], of bytes: [UInt8]) -> Bool {
        var signature = signature
        if isCurve {
            // A JWT has the two numbers one after the other (RFC 7518, section 3.4).
            guard signature.count == 96 else { return false }
            let numbers = [signature.prefix(48), signature.suffix(48)]
            signature = DER.value(0x30, numbers.flatMap { DER.number(Array($0)) })
        }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        return EVP_DigestVerifyInit(context, nil, EVP_sha384(), nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
    }
}

/// Values in the form that libcrypto reads (X.690, DER).
private enum DER {
    /// Returns a value of less than 64 KiB with its tag and length.
    static func value(_ tag: UInt8, _ bytes: [UInt8]) -> [UInt8] {
        let count = bytes.count
        let (high, low) = (UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count))
        let length = count < 0x80 ? [low] : count < 0x100 ? [0x81, low] : [0x82, high, low]
        return [tag] + length + bytes
    }

    /// Returns a number that is not negative.
    static func number(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array(bytes.drop { $0 == 0 })
        return value(0x02, (digits.first ?? 0) < 0x80 && !digits.isEmpty ? digits : [0] + digits)
    }
}
