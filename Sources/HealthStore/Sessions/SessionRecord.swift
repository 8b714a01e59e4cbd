public import ClarityScheduler

/// The history of the session without its tokens; it stays after the session has ended, until a
/// logout.
public struct SessionRecord: Hashable, Sendable, PrivateValue {
    /// A renewal or login that failed, in our words.
    public struct Refusal: Hashable, Sendable {
        public var at: Instant
        public var reason: String
    }

    /// Successive renewals that the backend answered with 500.
    ///
    /// Such an answer may mean an outage. In one dialect it is also the answer to an expired
    /// refresh token. Only time shows which one it was. A session with lasting trouble counts as
    /// ended: runs wait for a login. Each job's next occurrence still tries to renew it once.
    public struct Trouble: Hashable, Sendable {
        /// The number of failed renewals from which the session may count as ended: 3.
        public static let lastingCount = 3
        /// The time since the first failure from which the session may count as ended: 15 min.
        public static let lastingSpan = Duration.seconds(15 * 60)

        public var since: Instant
        public var count: Int

        /// Creates a series with this start and count.
        public init(since: Instant, count: Int) {
            self.since = since
            self.count = count
        }

        /// Returns the series with one more renewal.
        ///
        /// A start in the future, left by a clock that was stepped back, is moved to now.
        static func next(after trouble: Trouble?, at now: Instant) -> Trouble {
            guard let trouble else { return Trouble(since: now, count: 1) }
            return Trouble(
                since: min(trouble.since, now), count: min(trouble.count, Int(Int32.max)) + 1)
        }

        /// Returns whether the session counts as ended.
        public func isLasting(at now: Instant) -> Bool {
            count >= Trouble.lastingCount && now - since >= Trouble.lastingSpan
        }
    }

    /// The e-mail address of the last login.
    public var email: String
    /// The address of the backend that issued the session.
    public var backend: String
    /// When that login was; `nil` if this was not recorded.
    public var loggedInAt: Instant?
    /// When the tokens were last renewed; `nil` if never.
    public var renewedAt: Instant?
    /// The last failed renewal or login since then.
    public var refusal: Refusal?
    public var trouble: Trouble?

    init(_ session: Session, loggedInAt: Instant?) {
        email = session.email
        backend = session.backend
        self.loggedInAt = loggedInAt
    }
}

// The encrypted form of the record.

extension SessionRecord {
    private static let version: UInt8 = 1

    var sealedForm: [UInt8] {
        var bytes: [UInt8] = [SessionRecord.version]
        bytes.append(field: email)
        bytes.append(field: backend)
        for instant in [loggedInAt, renewedAt, refusal?.at, trouble?.since] {
            bytes.append(littleEndian: instant == nil ? UInt8(0) : 1)
            bytes.append(littleEndian: instant?.millisecondsSince1970 ?? 0)
        }
        bytes.append(field: refusal?.reason ?? "")
        bytes.append(littleEndian: Int64(trouble?.count ?? 0))
        return bytes
    }

    /// Returns `nil` if the bytes are not a valid `sealedForm`.
    init?(sealedForm: [UInt8]) {
        var reader = ByteReader(sealedForm)
        guard reader.number(UInt8.self) == SessionRecord.version, let email = reader.field(),
            let backend = reader.field()
        else { return nil }
        var instants: [Instant?] = []
        for _ in 0..<4 {
            guard let isKnown = reader.number(UInt8.self), let time = reader.number(Int64.self)
            else { return nil }
            instants.append(isKnown == 1 ? Instant(millisecondsSince1970: time) : nil)
        }
        guard let reason = reader.field(), let count = reader.number(Int64.self) else { return nil }
        self.email = email
        self.backend = backend
        loggedInAt = instants[0]
        renewedAt = instants[1]
        refusal = instants[2].map { Refusal(at: $0, reason: reason) }
        trouble = instants[3].map { Trouble(since: $0, count: Int(clamping: count)) }
    }
}
