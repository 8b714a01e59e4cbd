public import ClarityScheduler
public import ClaritySystem
import CSodium
@preconcurrency import Glibc

/// The ways into the web pages, in files of the state directory: a link that works once, and a
/// password.
///
/// `pages-link` has the BLAKE2b-256 digest of the link's token and the time at which it expires. A
/// token has 32 random bytes, so nobody can find it by its digest. `pages-password` has an Argon2id
/// hash in libsodium's own form. `pages-address` has the address at which the server last began to
/// listen.
public struct PageAccess: Sendable {
    /// How long a link works.
    public static let linkLife = Duration.seconds(600)
    /// The most bytes that any of the files can have.
    private static let largestFile = 4096

    private let folder: String

    /// Names the folder, which need not exist.
    public init(stateDirectory: String) { folder = stateDirectory }

    private var linkPath: String { "\(folder)/pages-link" }
    private var passwordPath: String { "\(folder)/pages-password" }
    private var addressPath: String { "\(folder)/pages-address" }

    /// Returns 32 random bytes as hex digits.
    public static func newToken() -> String {
        var bytes = [UInt8](repeating: 0, count: 32)
        randombytes_buf(&bytes, bytes.count)
        return hexEncoded(bytes)
    }

    /// Returns the digest under which a token is kept.
    public static func digest(_ token: String) -> String { contentDigest(Array(token.utf8)) }

    /// Whether two texts are the same. The time that this takes does not depend on where they
    /// differ.
    public static func isSame(_ one: String, _ other: String) -> Bool {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        return one.count == other.count && sodium_memcmp(one, other, one.count) == 0
    }

    // MARK: The link

    /// Makes a link's token, the only time that anybody sees it. The link before it works no more.
    public func makeLink(at now: Instant) throws(BackupError) -> String {
        let token = PageAccess.newToken()
        try locked { () throws(BackupError) in
            try DurableFile.replace(
                linkPath, by: "\(PageAccess.digest(token)) \(now + PageAccess.linkLife)\n")
        }
        return token
    }

    /// Uses the link up if this is its token and it has not expired; returns whether it was.
    public func useLink(_ token: String, at now: Instant) throws(BackupError) -> Bool {
        try locked { () throws(BackupError) in
            let text = try DurableFile.text(of: linkPath, atMost: PageAccess.largestFile) ?? ""
            let words = text.split(whereSeparator: \.isWhitespace)
            guard words.count == 2, let end = Instant(rfc3339: String(words[1])),
                PageAccess.isSame(PageAccess.digest(token), String(words[0])),
                // An end that is too far away was written before the clock was set back.
                now < end, end - now <= PageAccess.linkLife
            else { return false }
            // A link that cannot be removed could be used again.
            guard unlink(linkPath) == 0 else { throw .file(path: linkPath, errno: errno) }
            return true
        }
    }

    // MARK: The password

    /// Whether there is a password.
    public var hasPassword: Bool { access(passwordPath, F_OK) == 0 }

    /// Replaces the password.
    public func setPassword(_ password: Secret) throws(BackupError) {
        guard let hash = PageAccess.hash(password) else {
            throw .unusable(path: passwordPath, problem: "there is no memory for its hash")
        }
        try locked { () throws(BackupError) in
            try DurableFile.replace(passwordPath, by: "\(hash)\n")
        }
    }

    /// Returns the hash of a password in libsodium's own form; `nil` if there is no memory for it.
    private static func hash(_ password: Secret) -> String? {
        var text = [CChar](repeating: 0, count: Int(crypto_pwhash_STRBYTES))
        let code = password.reveal().withCString { bytes in
            crypto_pwhash_str(
                &text, bytes, UInt64(strlen(bytes)), UInt64(crypto_pwhash_OPSLIMIT_INTERACTIVE),
                Int(crypto_pwhash_MEMLIMIT_INTERACTIVE))
        }
        let hash = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return code == 0 ? String(decoding: hash, as: UTF8.self) : nil
    }

    /// Takes the time that it takes to check a password, where there is none to compare with.
    public static func spendTime(on password: Secret) { _ = hash(password) }

    /// Whether this is the password. Takes 64 MiB while it runs, and some 100 ms, also if there is no
    /// password.
    public func accepts(password: Secret) throws(BackupError) -> Bool {
        guard
            let text = try DurableFile.text(of: passwordPath, atMost: PageAccess.largestFile),
            let hash = text.split(separator: "\n").first
        else {
            PageAccess.spendTime(on: password)
            return false
        }
        return password.reveal().withCString { bytes in
            crypto_pwhash_str_verify(String(hash), bytes, UInt64(strlen(bytes))) == 0
        }
    }

    // MARK: The address

    /// Notes where the pages are, for those who make links.
    public func note(address: String) throws(BackupError) {
        try locked { () throws(BackupError) in
            try DurableFile.replace(addressPath, by: "\(address)\n")
        }
    }

    /// Where the pages were last; `nil` if they were never served.
    public func address() throws(BackupError) -> String? {
        try DurableFile.text(of: addressPath, atMost: PageAccess.largestFile)?
            .split(separator: "\n").first.map { String($0) }
    }

    /// Does something to the files while no other process does.
    private func locked<Result>(
        _ body: () throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        let path = "\(folder)/pages.lock"
        let lock: AdvisoryLock?
        do throws(AdvisoryLock.Fault) {
            lock = try AdvisoryLock.take(path, LOCK_EX, patience: .seconds(5), makesFile: true)
        } catch {
            throw .file(path: path, errno: error.errno)
        }
        guard let lock else {
            throw .unusable(path: path, problem: "another process is changing the ways in")
        }
        return try withExtendedLifetime(lock) { () throws(BackupError) in try body() }
    }
}
