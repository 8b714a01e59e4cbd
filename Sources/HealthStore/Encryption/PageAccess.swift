public import HealthModel
public import ClarityScheduler
public import Platform
import CSodium
@preconcurrency import Glibc

/// The ways into the web pages, of one account or without one: a link that works once, and a
/// password.
///
/// `pages/link` in the state directory has a line for each account: the BLAKE2b-256 digest of the
/// link's token, the time at which it expires, and the account, if any. So a wrong link takes the
/// same time whatever account it names. A token has 32 random bytes, so nobody can find it by its
/// digest. `pages/password` in the account's folder has an Argon2id hash in libsodium's own form.
/// `pages/address` has the address at which the server last began to listen.
public struct PageAccess: Sendable {
    /// How long a link works.
    public static let linkLife = Duration.seconds(600)
    /// The most links; a new one replaces the oldest.
    private static let mostLinks = 5000
    /// The most bytes that any of the files can have.
    private static let largestFile = 1 << 20

    private let state: String
    private let account: String?

    /// Names the folder, which need not exist, and the account, which the caller has checked to be
    /// an id.
    public init(stateDirectory state: String, account: String? = nil) {
        (self.state, self.account) = (state, account)
    }

    private var linkPath: String { "\(state)/pages/link" }
    private var addressPath: String { "\(state)/pages/address" }
    private var folder: String {
        account.map { StateDirectory.dataFolder(ofAccount: $0, in: state) } ?? state
    }
    private var passwordPath: String { "\(folder)/pages/password" }
    /// The file of version 0.1.0, which counts until the password next changes.
    private var formerPasswordPath: String { "\(folder)/pages-password" }
    private var sessions: PageSessions { PageSessions(stateDirectory: state) }

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

    /// A line of `pages/link`.
    private struct Link {
        var digest: String
        var end: Instant
        var account: String?

        init(digest: String, end: Instant, account: String?) {
            (self.digest, self.end, self.account) = (digest, end, account)
        }

        init?(_ line: Substring) {
            let words = line.split(separator: " ")
            guard (2...3).contains(words.count), let end = Instant(rfc3339: String(words[1]))
            else { return nil }
            self.init(
                digest: String(words[0]), end: end,
                account: words.count == 3 ? String(words[2]) : nil)
        }

        var line: String { "\(digest) \(end)\(account.map { " \($0)" } ?? "")\n" }

        /// An end that is too far away was written before the clock was set back.
        func isOpen(at now: Instant) -> Bool { now < end && end - now <= PageAccess.linkLife }
    }

    /// Makes a link's token, the only time that anybody sees it. The account's link before it works
    /// no more.
    public func makeLink(at now: Instant) throws(BackupError) -> String {
        let token = PageAccess.newToken()
        try PageAccess.locked(state) { () throws(BackupError) in
            let others = try links(at: now).filter { $0.account != account }
            let new = Link(
                digest: PageAccess.digest(token), end: now + PageAccess.linkLife, account: account)
            try replace(by: others.suffix(PageAccess.mostLinks - 1) + [new])
        }
        return token
    }

    /// Whether this is the token of a link that works. The time that this takes does not depend on
    /// the account.
    public func hasLink(_ token: String, at now: Instant) throws(BackupError) -> Bool {
        let digest = PageAccess.digest(token)
        return try links(at: now).reduce(false) { found, link in
            let isSame = PageAccess.isSame(link.digest, digest)
            return found || isSame && link.account == account
        }
    }

    /// Begins a session if this is the token of a link that works, which is used up; returns the
    /// session's token.
    public func enter(
        link token: String, as viewer: String, from browser: PageSessions.Browser? = nil,
        at now: Instant
    ) throws(BackupError) -> String? {
        try PageAccess.locked(state) { () throws(BackupError) in
            guard try hasLink(token, at: now) else { return nil }
            // A link that cannot be removed could be used again.
            try replace(by: try links(at: now).filter { $0.account != account })
            return try sessions.beginAlone(as: viewer, of: account, from: browser, at: now)
        }
    }

    private func links(at now: Instant) throws(BackupError) -> [Link] {
        let text = try DurableFile.text(of: linkPath, atMost: PageAccess.largestFile) ?? ""
        return text.split(separator: "\n").compactMap { Link($0) }.filter { $0.isOpen(at: now) }
    }

    private func replace(by links: [Link]) throws(BackupError) {
        guard !links.isEmpty else {
            guard unlink(linkPath) == 0 || errno == ENOENT else {
                throw .file(path: linkPath, errno: errno)
            }
            return
        }
        try DurableFile.replace(linkPath, by: links.map(\.line).joined())
    }

    // MARK: The password

    /// Whether there is a password.
    public var hasPassword: Bool {
        access(passwordPath, F_OK) == 0 || access(formerPasswordPath, F_OK) == 0
    }

    /// Replaces the password, and ends the sessions of its account.
    public func setPassword(_ password: Secret, at now: Instant) throws(BackupError) {
        guard let hash = PageAccess.hash(password) else {
            throw .unusable(path: passwordPath, problem: "there is no memory for its hash")
        }
        try PageAccess.locked(state) { () throws(BackupError) in
            try DurableFile.makeFolder(of: passwordPath)
            try DurableFile.replace(passwordPath, by: "\(hash)\n")
            guard unlink(formerPasswordPath) == 0 || errno == ENOENT else {
                throw .file(path: formerPasswordPath, errno: errno)
            }
            try sessions.endAlone(at: now) { $0.account == account }
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

    /// Begins a session if this is the password, and returns the session's token. Takes 64 MiB
    /// while it runs, and some 100 ms, also if there is no password.
    public func enter(
        password: Secret, as viewer: String, from browser: PageSessions.Browser? = nil,
        at now: Instant
    ) throws(BackupError) -> String? {
        guard let hash = try passwordHash() else {
            PageAccess.spendTime(on: password)
            return nil
        }
        let isRight = password.reveal().withCString { bytes in
            crypto_pwhash_str_verify(hash, bytes, UInt64(strlen(bytes))) == 0
        }
        guard isRight else { return nil }
        return try PageAccess.locked(state) { () throws(BackupError) in
            // A password that was replaced meanwhile has ended its sessions.
            guard try passwordHash() == hash else { return nil }
            return try sessions.beginAlone(as: viewer, of: account, from: browser, at: now)
        }
    }

    private func passwordHash() throws(BackupError) -> String? {
        // Asked once more, because a change removes the former file once there is the new one.
        for path in [passwordPath, formerPasswordPath, passwordPath] {
            if let text = try DurableFile.text(of: path, atMost: PageAccess.largestFile) {
                return text.split(separator: "\n").first.map { String($0) }
            }
        }
        return nil
    }

    // MARK: The address

    /// Notes where the pages are, for those who make links.
    public func note(address: String) throws(BackupError) {
        try PageAccess.locked(state) { () throws(BackupError) in
            try DurableFile.replace(addressPath, by: "\(address)\n")
        }
    }

    /// Where the pages were last; `nil` if they were never served.
    public func address() throws(BackupError) -> String? {
        try DurableFile.text(of: addressPath, atMost: PageAccess.largestFile)?
            .split(separator: "\n").first.map { String($0) }
    }

    /// Does something to the files of a state directory while no other process does.
    static func locked<Result>(
        _ state: String, _ body: () throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        let path = "\(state)/pages/lock"
        let problem = (path, "another process is changing the ways in")
        return try locked(by: path, or: problem, body)
    }

    /// Does something while no other process holds the lock in this file.
    ///
    /// - Parameter fault: the path and the problem to report if one does.
    static func locked<Result>(
        by path: String, or fault: (path: String, problem: String),
        _ body: () throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        try DurableFile.makeFolder(of: path)
        let lock: FileLock?
        do throws(SystemError) {
            lock = try FileLock.take(path, LOCK_EX, patience: .seconds(5), makesFile: true)
        } catch {
            throw .file(path: path, errno: error.code)
        }
        guard let lock else {
            throw .unusable(path: fault.path, problem: fault.problem)
        }
        return try withExtendedLifetime(lock) { () throws(BackupError) in try body() }
    }
}

/// The sessions of browsers with the web pages, in a file of the state directory.
///
/// `pages/sessions` has a line for each: the BLAKE2b-256 digest of the token in the browser's
/// cookie, when the session began, who logged in, of which account, and when, from where and with
/// what it was last used. A token has 32 random bytes, so nobody can find it by its digest. The server
/// follows the file, so that any process can end a session.
public struct PageSessions: Sendable {
    /// A session, as far as it is kept.
    public struct Entry: Hashable, Sendable {
        public let digest: String
        public let begunAt: Instant
        /// The word for who logged in, such as `wearer`.
        public let viewer: String
        /// The account, if it is the session of one.
        public let account: String?
        /// When it was last used, to within `pace`.
        public fileprivate(set) var usedAt: Instant
        /// From where it was used then; `nil` of a session of an earlier version.
        public fileprivate(set) var browser: Browser?

        /// A name for the audit log and for commands, with which nobody can log in.
        public var name: String { String(digest.prefix(8)) }

        /// When the session ends by itself.
        public var endsAt: Instant { begunAt + PageSessions.life }

        /// Whether the session has not ended by itself. One from the future began before the clock
        /// was set back.
        public func isOpen(at now: Instant) -> Bool {
            now < endsAt && begunAt - now <= .seconds(60)
        }

        fileprivate init(
            digest: String, begunAt: Instant, viewer: String, account: String?, browser: Browser?
        ) {
            (self.digest, self.begunAt, usedAt) = (digest, begunAt, begunAt)
            (self.viewer, self.account, self.browser) = (viewer, account, browser)
        }

        fileprivate init?(_ line: Substring) {
            let words = line.split(separator: " ")
            // Lines of earlier versions have 3 or 4.
            guard [3, 4, 7].contains(words.count), words[0].utf8.count == 64,
                let begunAt = Instant(rfc3339: String(words[1]))
            else { return nil }
            self.init(
                digest: String(words[0]), begunAt: begunAt, viewer: String(words[2]),
                account: words.count == 3 || words[3] == Entry.none ? nil : String(words[3]),
                browser: nil)
            guard words.count == 7 else { return }
            guard let usedAt = Instant(rfc3339: String(words[4])) else { return nil }
            self.usedAt = usedAt
            if words[5] != Entry.none {
                browser = Browser(
                    address: String(words[5]), name: String(words[6]).replacing("_", with: " "))
            }
        }

        /// The word for what there is not; no account and no address is this.
        private static let none = "."

        fileprivate var line: String {
            let name = browser?.name.replacing(" ", with: "_") ?? Entry.none
            let words = [
                digest, "\(begunAt)", viewer, account ?? Entry.none, "\(usedAt)",
                browser?.address ?? Entry.none, name,
            ]
            return words.joined(separator: " ") + "\n"
        }
    }

    /// Where requests of a session come from.
    public struct Browser: Hashable, Sendable {
        /// The address.
        public let address: String
        /// The browser and its system, as far as they are known: `Safari on iPhone`.
        public let name: String

        fileprivate init(address: String, name: String) {
            (self.address, self.name) = (address, name)
        }

        /// Recognises a browser by the header `User-Agent`, in which all claim to be others too: the
        /// first name that is found counts.
        public init(address: String, userAgent: String?) {
            let families = [
                ("Edg", "Edge"), ("OPR/", "Opera"), ("SamsungBrowser", "Samsung Internet"),
                ("Firefox/", "Firefox"), ("FxiOS", "Firefox"), ("CriOS", "Chrome"),
                ("Chrome/", "Chrome"), ("Safari/", "Safari"), ("curl/", "curl"),
            ]
            let systems = [
                ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"),
                ("Windows", "Windows"), ("Macintosh", "Mac"), ("Linux", "Linux"),
            ]
            func first(_ names: [(part: String, name: String)]) -> String? {
                names.first { userAgent?.contains($0.part) ?? false }?.name
            }
            let system = first(systems).map { " on \($0)" } ?? ""
            // What a proxy forwards may be any text.
            let known = address.filter {
                $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == ":")
            }
            self.init(
                address: known.isEmpty ? "unknown" : String(known.prefix(64)),
                name: (first(families) ?? "another program") + system)
        }
    }

    /// How long a session lasts.
    public static let life = Duration.seconds(12 * 3600)
    /// How old the time of the last use may be in the file.
    public static let pace = Duration.seconds(60)
    /// The most sessions of one account; a new one ends its oldest.
    public static let mostOfAccount = 16
    /// The most bytes that the file can have.
    private static let largestFile = 64 << 20

    /// The file, which need not exist.
    public let path: String
    private let state: String

    public init(stateDirectory state: String) {
        self.state = state
        path = "\(state)/pages/sessions"
    }

    /// Returns the open sessions in the order in which they began.
    public func list(at now: Instant) throws(BackupError) -> [Entry] {
        let text = try DurableFile.text(of: path, atMost: PageSessions.largestFile) ?? ""
        var sessions: [Entry] = []
        for (index, line) in text.split(separator: "\n").enumerated() {
            guard let session = Entry(line) else {
                throw .unusable(path: path, problem: "line \(index + 1) is no session")
            }
            if session.isOpen(at: now) { sessions.append(session) }
        }
        return sessions
    }

    /// Ends sessions, and returns how many.
    public func end(
        at now: Instant, _ isEnded: (Entry) -> Bool
    ) throws(BackupError) -> Int {
        // Without the file, there may be no folder for the lock either.
        guard access(path, F_OK) == 0 else { return 0 }
        return try PageAccess.locked(state) { () throws(BackupError) in
            try endAlone(at: now, isEnded)
        }
    }

    /// Ends sessions while this process has the lock.
    @discardableResult
    func endAlone(
        at now: Instant, _ isEnded: (Entry) -> Bool
    ) throws(BackupError) -> Int {
        let sessions = try list(at: now)
        let left = sessions.filter { !isEnded($0) }
        if left.count < sessions.count { try replace(by: left) }
        return sessions.count - left.count
    }

    /// Notes that a session is used; does nothing if it has ended.
    public func use(
        _ digest: String, from browser: Browser, at now: Instant
    ) throws(BackupError) {
        try PageAccess.locked(state) { () throws(BackupError) in
            var sessions = try list(at: now)
            guard let place = sessions.firstIndex(where: { $0.digest == digest }) else { return }
            sessions[place].usedAt = now
            sessions[place].browser = browser
            try replace(by: sessions)
        }
    }

    /// Begins a session while this process has the lock, and returns its token, for the cookie.
    func beginAlone(
        as viewer: String, of account: String?, from browser: Browser?, at now: Instant
    ) throws(BackupError) -> String {
        let token = PageAccess.newToken()
        var sessions = try list(at: now)
        let own = sessions.filter { $0.account == account }
        if own.count >= PageSessions.mostOfAccount {
            sessions.removeAll { $0 == own[0] }
        }
        sessions.append(
            Entry(
                digest: PageAccess.digest(token), begunAt: now, viewer: viewer, account: account,
                browser: browser))
        try replace(by: sessions)
        return token
    }

    private func replace(by sessions: [Entry]) throws(BackupError) {
        try DurableFile.replace(path, by: sessions.map(\.line).joined())
    }
}
