import COpenSSL
import Glibc
public import ClarityScheduler
public import HealthModel
import HealthStore
public import JSON
import Platform

/// The key with which a client signs who it is: on the curve P-384 for ES384, or RSA for RS384
/// (RFC 7518, section 3).
public final class SigningKey {
    /// The algorithm of a key.
    public enum Kind: String, CaseIterable, Sendable {
        case es384, rs384

        /// Its name in a JWK.
        var algorithm: String { rawValue.uppercased() }
    }

    /// The bytes of each of the two numbers of a signature or point of P-384.
    private static let curveBytes = 48
    private static let curve = "P-384"
    /// What RFC 7518 asks of RSA at least, and what a new key has.
    private static let (fewestBits, newBits) = (2048, 3072)
    /// More than any key has as PEM.
    private static let mostBytes = 16 << 10

    public let kind: Kind
    private let key: OpaquePointer

    /// Makes a new key.
    public init(_ kind: Kind) throws(Failure) {
        let context = EVP_PKEY_CTX_new_from_name(nil, kind == .es384 ? "EC" : "RSA", nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1,
            kind == .es384
                ? EVP_PKEY_CTX_set_group_name(context, Self.curve) == 1
                : EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(Self.newBits)) == 1,
            EVP_PKEY_generate(context, &key) == 1, let key
        else { throw Self.broken("make a key") }
        (self.kind, self.key) = (kind, key)
    }

    /// Reads a private key in PEM, without a password.
    ///
    /// - Parameter place: where it was, for messages.
    /// - Throws: `Failure` for another text, and for a key of another kind.
    public init(_ pem: Secret, from place: String) throws(Failure) {
        var key: OpaquePointer?
        // With no way to ask for a password, an encrypted key is not decoded.
        let context = OSSL_DECODER_CTX_new_for_pkey(
            &key, copenssl_pem(), nil, nil, Int32(copenssl_keypair), nil, nil)
        defer { OSSL_DECODER_CTX_free(context) }
        let bytes = Array(pem.reveal().utf8)
        let isRead = bytes.withUnsafeBufferPointer { buffer in
            var (start, count) = (buffer.baseAddress, buffer.count)
            return OSSL_DECODER_from_data(context, &start, &count) == 1
        }
        guard isRead, let key else {
            throw Failure(
                .configuration,
                "\(place) is no private key in PEM without a password; `clarity-jobs fhir keygen` "
                    + "makes one")
        }
        guard let kind = Self.kind(of: key) else {
            EVP_PKEY_free(key)
            throw Failure(
                .configuration,
                "\(place) is a key of another kind; wanted one on the curve P-384, or RSA with at "
                    + "least \(Self.fewestBits) bits")
        }
        (self.kind, self.key) = (kind, key)
    }

    deinit { EVP_PKEY_free(key) }

    /// Returns the text of a file with a key, which others may not read.
    ///
    /// - Throws: `Failure`.
    public static func text(of path: String) throws(Failure) -> Secret {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        let code = errno
        guard descriptor >= 0 else {
            throw Failure(
                .configuration, "cannot read the key `\(path)`: \(SystemError(code: code).reason)")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Failure(.configuration, "the key `\(path)` is no ordinary file")
        }
        guard status.st_mode & 0o007 == 0 else {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw Failure(
                .configuration,
                "the key `\(path)` is open to others (mode 0\(mode)); make it 0600")
        }
        do throws(WholeFile.Fault) {
            let bytes = try WholeFile.bytes(from: descriptor, atMost: mostBytes)
            return Secret(String(decoding: bytes, as: UTF8.self))
        } catch {
            throw Failure(.configuration, "the key `\(path)` cannot be read, or is no key")
        }
    }

    private static func kind(of key: OpaquePointer) -> Kind? {
        if EVP_PKEY_is_a(key, "RSA") == 1 {
            return EVP_PKEY_get_bits(key) >= fewestBits ? .rs384 : nil
        }
        var (name, count) = ([CChar](repeating: 0, count: 64), 0)
        guard EVP_PKEY_is_a(key, "EC") == 1,
            EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1
        else { return nil }
        let group = String(
            decoding: name.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
        return group == "secp384r1" ? .es384 : nil
    }

    private static func broken(_ what: String) -> Failure {
        Failure(.internalFault, "libcrypto cannot \(what)")
    }

    // MARK: Its texts

    /// The key in PEM (PKCS#8), not encrypted.
    public var pem: Secret {
        get throws(Failure) {
            let context = OSSL_ENCODER_CTX_new_for_pkey(
                key, Int32(copenssl_keypair), copenssl_pem(), copenssl_pkcs8(), nil)
            defer { OSSL_ENCODER_CTX_free(context) }
            var bytes = [UInt8](repeating: 0, count: Self.mostBytes)
            let used = bytes.withUnsafeMutableBufferPointer { buffer in
                var (place, rest) = (buffer.baseAddress, buffer.count)
                return OSSL_ENCODER_to_data(context, &place, &rest) == 1 ? buffer.count - rest : 0
            }
            guard used > 0 else { throw Self.broken("write a key") }
            return Secret(String(decoding: bytes.prefix(used), as: UTF8.self))
        }
    }

    /// Writes the key to a new file that only its owner may read.
    ///
    /// - Parameter path: an absolute path.
    /// - Throws: `Failure` if there is something at the path, even a link to nothing.
    public func write(to path: String) throws(Failure) {
        let text = try pem.reveal()
        do throws(BackupError) {
            try DurableFile.write(text, to: path)
            try DurableFile.syncNames(
                in: String(path[...(path.lastIndex(of: "/") ?? path.startIndex)]))
        } catch .file(_, EEXIST) {
            throw Failure(
                .configuration, "there is something at `\(path)` already; name a new file")
        } catch {
            // A part of a key is none.
            unlink(path)
            throw Failure(.disk, error.description)
        }
    }

    /// The public half as a JWK (RFC 7517), whose `kid` is its thumbprint.
    public var jwk: JSON {
        get throws(Failure) {
            try publicNumbers.adding([
                "use": "sig", "alg": .string(kind.algorithm), "kid": .string(try id),
            ])
        }
    }

    /// The thumbprint (RFC 7638).
    var id: String {
        get throws(Failure) {
            // The members that the kind of key needs, in the order of their names.
            let text = Array(try publicNumbers.line.utf8)
            var (hash, count) = ([UInt8](repeating: 0, count: 32), 32)
            guard EVP_Q_digest(nil, "SHA256", nil, text, text.count, &hash, &count) == 1 else {
                throw Self.broken("compute SHA-256")
            }
            return hash.base64URL
        }
    }

    private var publicNumbers: JSON {
        get throws(Failure) {
            switch kind {
            case .es384:
                [
                    "crv": .string(Self.curve), "kty": "EC",
                    "x": .string(try number("qx", count: Self.curveBytes).base64URL),
                    "y": .string(try number("qy", count: Self.curveBytes).base64URL),
                ]
            case .rs384:
                [
                    "e": .string(try number("e").base64URL), "kty": "RSA",
                    "n": .string(try number("n").base64URL),
                ]
            }
        }
    }

    /// Returns a number of the key.
    ///
    /// - Parameter count: how many bytes it has; `nil` for as many as it needs.
    private func number(_ name: String, count: Int? = nil) throws(Failure) -> [UInt8] {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key, name, &number) == 1 else {
            throw Self.broken("read the numbers of a key")
        }
        defer { BN_free(number) }
        return Self.bytes(of: number, count: count ?? Int(BN_num_bits(number) + 7) / 8)
    }

    private static func bytes(of number: OpaquePointer?, count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        // Fails only for a longer number, and no number modulo the curve's is.
        BN_bn2binpad(number, &bytes, Int32(count))
        return bytes
    }

    // MARK: Signing

    /// Returns a signed JWT with these claims (RFC 7515, section 7.1).
    func token(_ claims: JSON) throws(Failure) -> Secret {
        let header: JSON = [
            "alg": .string(kind.algorithm), "kid": .string(try id), "typ": "JWT",
        ]
        let text = [header, claims].map { Array($0.line.utf8).base64URL }.joined(separator: ".")
        return Secret("\(text).\(try signature(of: Array(text.utf8)).base64URL)")
    }

    private func signature(of text: [UInt8]) throws(Failure) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var bytes = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key)))
        var count = bytes.count
        guard EVP_DigestSignInit_ex(context, nil, "SHA384", nil, nil, key, nil) == 1,
            EVP_DigestSign(context, &bytes, &count, text, text.count) == 1
        else { throw Self.broken("sign") }
        guard kind == .es384 else { return Array(bytes.prefix(count)) }
        // A JWT has the two numbers one after the other (RFC 7518, section 3.4).
        let pair = bytes.withUnsafeBufferPointer { buffer in
            var place = buffer.baseAddress
            return d2i_ECDSA_SIG(nil, &place, count)
        }
        guard let pair else { throw Self.broken("sign") }
        defer { ECDSA_SIG_free(pair) }
        return [ECDSA_SIG_get0_r(pair), ECDSA_SIG_get0_s(pair)].flatMap {
            Self.bytes(of: $0, count: Self.curveBytes)
        }
    }
}

extension [UInt8] {
    /// The bytes in base64url without padding (RFC 4648, section 5).
    fileprivate var base64URL: String {
        base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
