public import ClarityScheduler
public import Platform
@preconcurrency import Glibc

/// The sessions of browsers with the web pages, in a file of the state directory.
///
/// `pages/sessions` has a line for each: the BLAKE2b-256 digest of the token in the browser's
/// cookie, when the session began, who came in, and of which account. A token has 32 random bytes,
/// so nobody can find it by its digest. The server follows the file, so that any process can end a
/// session.
public struct PageSessions: Sendable {
    /// A session, as far as it is kept.
    public struct Entry: Hashable, Sendable {
        public let digest: String
        public let begunAt: Instant
        /// The word for who came in, such as `wearer`.
        public let viewer: String
        /// The account, if it is the session of one.
        public let account: String?

        /// A name for the audit log and for commands, with which nobody can come in.
        public var name: String { String(digest.prefix(8)) }

        /// When the session ends by itself.
        public var endsAt: Instant { begunAt + PageSessions.life }

        /// Whether the session has not ended by itself. One from the future began before the clock
        /// was set back.
        public func isOpen(at now: Instant) -> Bool {
            now < endsAt && begunAt - now <= .seconds(60)
        }

        fileprivate init(digest: String, begunAt: Instant, viewer: String, account: String?) {
            (self.digest, self.begunAt) = (digest, begunAt)
            (self.viewer, self.account) = (viewer, account)
        }

        fileprivate init?(_ line: Substring) {
            let words = line.split(separator: " ")
            guard (3...4).contains(words.count), words[0].utf8.count == 64,
                let begunAt = Instant(rfc3339: String(words[1]))
            else { return nil }
            self.init(
                digest: String(words[0]), begunAt: begunAt, viewer: String(words[2]),
                account: words.count == 4 ? String(words[3]) : nil)
        }

        fileprivate var line: String {
            "\(digest) \(begunAt) \(viewer)\(account.map { " \($0)" } ?? "")\n"
        }
    }

    /// How long a session lasts.
    public static let life = Duration.seconds(12 * 3600)
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

    /// Begins a session while this process has the lock, and returns its token, for the cookie.
    func beginAlone(
        as viewer: String, of account: String?, at now: Instant
    ) throws(BackupError) -> String {
        let token = PageAccess.newToken()
        var sessions = try list(at: now)
        let own = sessions.filter { $0.account == account }
        if own.count >= PageSessions.mostOfAccount {
            sessions.removeAll { $0 == own[0] }
        }
        sessions.append(
            Entry(
                digest: PageAccess.digest(token), begunAt: now, viewer: viewer, account: account))
        try replace(by: sessions)
        return token
    }

    private func replace(by sessions: [Entry]) throws(BackupError) {
        try DurableFile.replace(path, by: sessions.map(\.line).joined())
    }
}
