import CGnuTLS
import ClarityScheduler
import Platform
@preconcurrency import Glibc

/// The certificate of `serve --lan`, which signs itself, with its key.
///
/// It is the certificate of a server and of no authority: whoever trusts it trusts these pages, and
/// nothing else that its key could sign.
struct LocalCertificate: Hashable {
    /// How long it is valid. Apple's systems refuse a TLS certificate of more than 825 days, and one
    /// of an authority that they know of more than 398 (support.apple.com/103769 and 102028).
    static let life = Duration.seconds(397 * 86_400)
    /// How long before its end another one takes its place.
    static let renewal = Duration.seconds(30 * 86_400)
    /// How far a phone's clock may be behind.
    private static let tolerance = Duration.seconds(86_400)

    /// The key and the certificate, in PEM.
    let pem: String
    /// The names and addresses in it.
    let names: Set<String>
    let beginsAt: Instant
    let endsAt: Instant
    /// The SHA-256 digest of the certificate, as browsers show it: `AB:CD:...`.
    let fingerprint: String

    /// Returns the certificate in `pages/lan.pem` of the state directory, or a new one if there is
    /// none, it lacks a name, or it ends soon.
    ///
    /// - Throws: `BackupError`, also if others may read the key.
    static func kept(
        in state: String, for names: LocalNames, at now: Instant
    ) throws(BackupError) -> LocalCertificate {
        let path = "\(state)/pages/lan.pem"
        if let text = try DurableFile.text(of: path, atMost: 1 << 16) {
            try checkReaders(of: path)
            guard let known = LocalCertificate(pem: text) else {
                throw .unusable(
                    path: path,
                    problem: "it has no certificate; remove it, and the next start makes another")
            }
            if known.holds(for: names, at: now) { return known }
        }
        let made: LocalCertificate
        do throws(GnuTLSFault) {
            made = try LocalCertificate(for: names, at: now)
        } catch {
            throw .unusable(path: path, problem: "GnuTLS cannot make the certificate: \(error)")
        }
        try DurableFile.makeFolder(of: path)
        try DurableFile.replace(path, by: made.pem)
        return made
    }

    /// Whether it names all of these, and does not end soon. One from the future was made before the
    /// clock was set back.
    func holds(for names: LocalNames, at now: Instant) -> Bool {
        self.names.isSuperset(of: names.all) && beginsAt <= now
            && now < endsAt - LocalCertificate.renewal
    }

    private static func checkReaders(of path: String) throws(BackupError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw .file(path: path, errno: errno) }
        guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
            throw .unusable(
                path: path,
                problem: "others may have read its key; remove it, and the next start makes another"
            )
        }
    }

    // MARK: GnuTLS

    /// Reads a certificate from a text that has its key too; `nil` if there is none in it.
    init?(pem: String) {
        var made: gnutls_x509_crt_t?
        guard gnutls_x509_crt_init(&made) == 0, let certificate = made else { return nil }
        defer { gnutls_x509_crt_deinit(certificate) }
        var bytes = Array(pem.utf8)
        let code = bytes.withUnsafeMutableBufferPointer { bytes in
            var text = gnutls_datum_t(data: bytes.baseAddress, size: UInt32(bytes.count))
            return gnutls_x509_crt_import(certificate, &text, GNUTLS_X509_FMT_PEM)
        }
        guard code == 0 else { return nil }
        self.init(certificate, pem)
    }

    private init(_ certificate: gnutls_x509_crt_t, _ pem: String) {
        self.pem = pem
        beginsAt = Instant(
            secondsSince1970: Int64(gnutls_x509_crt_get_activation_time(certificate)))
        endsAt = Instant(secondsSince1970: Int64(gnutls_x509_crt_get_expiration_time(certificate)))
        var digest = [UInt8](repeating: 0, count: 32)
        var size = digest.count
        gnutls_x509_crt_get_fingerprint(certificate, GNUTLS_DIG_SHA256, &digest, &size)
        fingerprint = digest.map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined(separator: ":")
        var names: Set<String> = []
        var name = [UInt8](repeating: 0, count: 256)
        for number in UInt32(0)... {
            var size = name.count
            let kind = gnutls_x509_crt_get_subject_alt_name(
                certificate, number, &name, &size, nil)
            guard kind >= 0 else { break }
            names.insert(
                UInt32(kind) == GNUTLS_SAN_IPADDRESS.rawValue && size == 4
                    ? name[..<4].map { String($0) }.joined(separator: ".")
                    : String(decoding: name[..<size].prefix { $0 != 0 }, as: UTF8.self))
        }
        self.names = names
    }

    /// Makes a certificate with a new key of ECDSA on P-256.
    init(for names: LocalNames, at now: Instant) throws(GnuTLSFault) {
        var key: gnutls_x509_privkey_t?
        var certificate: gnutls_x509_crt_t?
        try GnuTLSFault.check(gnutls_x509_privkey_init(&key))
        defer { gnutls_x509_privkey_deinit(key) }
        try GnuTLSFault.check(gnutls_x509_crt_init(&certificate))
        defer { gnutls_x509_crt_deinit(certificate) }
        // The macro GNUTLS_CURVE_TO_BITS, which Swift does not import.
        let curve = 1 << 31 | GNUTLS_ECC_CURVE_SECP256R1.rawValue
        try GnuTLSFault.check(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, curve, 0))
        try GnuTLSFault.check(gnutls_x509_crt_set_version(certificate, 3))
        try GnuTLSFault.check(gnutls_x509_crt_set_key(certificate, key))
        // Positive, and of 16 bytes.
        let serial = [UInt8.random(in: 1...127)] + (0..<15).map { _ in UInt8.random(in: 0...255) }
        try GnuTLSFault.check(gnutls_x509_crt_set_serial(certificate, serial, serial.count))
        let begin = now - LocalCertificate.tolerance
        let end = begin + LocalCertificate.life
        try GnuTLSFault.check(
            gnutls_x509_crt_set_activation_time(
                certificate, time_t(begin.millisecondsSince1970 / 1000)))
        try GnuTLSFault.check(
            gnutls_x509_crt_set_expiration_time(
                certificate, time_t(end.millisecondsSince1970 / 1000)))
        let subject = Array((names.hosts.first ?? "clarity-jobs").utf8)
        try GnuTLSFault.check(
            gnutls_x509_crt_set_dn_by_oid(
                certificate, GNUTLS_OID_X520_COMMON_NAME, 0, subject, UInt32(subject.count)))
        for address in names.addresses {
            let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: address.host >> $0) }
            try GnuTLSFault.check(
                gnutls_x509_crt_set_subject_alt_name(
                    certificate, GNUTLS_SAN_IPADDRESS, bytes, UInt32(bytes.count),
                    UInt32(GNUTLS_FSAN_APPEND)))
        }
        for host in names.hosts {
            let bytes = Array(host.utf8)
            try GnuTLSFault.check(
                gnutls_x509_crt_set_subject_alt_name(
                    certificate, GNUTLS_SAN_DNSNAME, bytes, UInt32(bytes.count),
                    UInt32(GNUTLS_FSAN_APPEND)))
        }
        try GnuTLSFault.check(gnutls_x509_crt_set_basic_constraints(certificate, 0, -1))
        try GnuTLSFault.check(
            gnutls_x509_crt_set_key_usage(certificate, UInt32(GNUTLS_KEY_DIGITAL_SIGNATURE)))
        try GnuTLSFault.check(
            gnutls_x509_crt_set_key_purpose_oid(certificate, GNUTLS_KP_TLS_WWW_SERVER, 0))
        try GnuTLSFault.check(
            gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0))
        let pem =
            try LocalCertificate.text { bytes, size in
                gnutls_x509_privkey_export_pkcs8(
                    key, GNUTLS_X509_FMT_PEM, nil, GNUTLS_PKCS_PLAIN.rawValue, bytes, size)
            }
            + LocalCertificate.text { bytes, size in
                gnutls_x509_crt_export(certificate, GNUTLS_X509_FMT_PEM, bytes, size)
            }
        // GnuTLS finds the names only in a certificate that it has read.
        guard let made = LocalCertificate(pem: pem) else {
            throw GnuTLSFault(code: GNUTLS_E_PARSING_ERROR)
        }
        self = made
    }

    /// Returns the text that a function of GnuTLS writes.
    private static func text(
        _ write: (UnsafeMutableRawPointer, UnsafeMutablePointer<Int>) -> Int32
    ) throws(GnuTLSFault) -> String {
        var bytes = [UInt8](repeating: 0, count: 1 << 14)
        var size = bytes.count
        let code = bytes.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { write($0, &size) } ?? GNUTLS_E_MEMORY_ERROR
        }
        try GnuTLSFault.check(code)
        return String(decoding: bytes[..<size].prefix { $0 != 0 }, as: UTF8.self)
    }
}

/// A function of GnuTLS that failed.
struct GnuTLSFault: Error, CustomStringConvertible {
    let code: Int32

    static func check(_ code: Int32) throws(GnuTLSFault) {
        guard code >= 0 else { throw GnuTLSFault(code: code) }
    }

    var description: String {
        gnutls_strerror(code).map { String(cString: $0).lowercased() } ?? "error \(code)"
    }
}
