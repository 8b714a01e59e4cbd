public import ClarityScheduler

/// How the session came about and fares: what is known of it beside its tokens, and for as long as
/// nobody logs out also when it has ended.
public struct SessionRecord: Hashable, Sendable, PrivateValue {
    /// A renewal or login that failed, in our words.
    public struct Refusal: Hashable, Sendable {
        public var at: Instant
        public var reason: String
    }

    /// Renewals in a row that the backend answered with an error of its own (5xx).
    ///
    /// Such an answer may be an outage, and in one dialect is also what a refresh token that has
    /// ended gets: what it was shows with time alone.
    public struct Trouble: Hashable, Sendable {
        /// From so many on it may last: 3.
        public static let lastingCount = 3
        /// So long after the first it lasts: 15 min.
        public static let lastingSpan = Duration.seconds(15 * 60)

        public var since: Instant
        public var count: Int

        /// Creates trouble of so many renewals.
        public init(since: Instant, count: Int) {
            self.since = since
            self.count = count
        }

        /// The trouble with one renewal more; a start in the future, of a clock that was stepped
        /// back, is moved to now.
        static func next(after trouble: Trouble?, at now: Instant) -> Trouble {
            guard let trouble else { return Trouble(since: now, count: 1) }
            return Trouble(
                since: min(trouble.since, now), count: min(trouble.count, Int(Int32.max)) + 1)
        }

        /// Whether the session is to be taken for one that has ended.
        public func isLasting(at now: Instant) -> Bool {
            count >= Trouble.lastingCount && now - since >= Trouble.lastingSpan
        }
    }

    /// Who logged in last.
    public var email: String
    /// The address of the backend that gave the session.
    public var backend: String
    /// When that login was; `nil` for one of which it was not written down.
    public var loggedInAt: Instant?
    /// When the tokens were renewed last; `nil` before the first time.
    public var renewedAt: Instant?
    /// The last renewal or login that failed since.
    public var refusal: Refusal?
    public var trouble: Trouble?

    init(_ session: Session, loggedInAt: Instant?) {
        email = session.email
        backend = session.backend
        self.loggedInAt = loggedInAt
    }
}

// The form in which it is sealed.

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

    /// `nil` when the bytes are none of `sealedForm`.
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
