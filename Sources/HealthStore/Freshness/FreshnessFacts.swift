public import HealthModel
public import ClarityScheduler
import Database

/// What the store knows about the subject of a freshness goal.
public struct FreshnessFacts: Hashable, Sendable {
    /// Where samples are that do not count as delivered.
    public enum Place: String, CaseIterable, Hashable, Sendable {
        /// Queued, or being sent.
        case waiting
        /// Taken by the backend, but never confirmed.
        case unconfirmed
        case setAside = "set aside"
        case rejected
    }

    /// The newest that counts: a sample that the backend has confirmed or accepted, an insight, or
    /// the last pull of the profile; `nil` if there is none.
    public var newest: Instant?
    /// The newest sample in each other place, of those that would meet the goal; of what waits, the
    /// newest of all.
    public var elsewhere: [Place: Instant] = [:]
    /// When a source was last read to its end.
    public var lastReading: Instant?

    /// Creates empty facts.
    public init() {}
}

extension HealthStore {
    /// Returns the subjects with any data, samples first and in the order of their kinds.
    public func arrivedSubjects() throws(HealthStoreError) -> [FreshnessGoal.Subject] {
        try access { connection in
            var subjects: [FreshnessGoal.Subject] = []
            let packed = try PackedSamples(cipher: cipher, connection: connection).totals()
            for kind in SampleKind.allCases {
                let row = try connection.integer(
                    "SELECT 1 FROM outbox INDEXED BY outbox_sample WHERE kind = ? LIMIT 1",
                    .text(kind.rawValue))
                if row != nil || packed[kind] != nil { subjects.append(.samples(kind)) }
            }
            let pulled = [("insights", FreshnessGoal.Subject.insights), ("profile", .profile)]
            for (table, subject) in pulled {
                if try connection.hasRows(table) { subjects.append(subject) }
            }
            return subjects
        }
    }

    /// The maximum number of samples searched for the newest accepted one.
    ///
    /// If more samples than this come after it, it counts as unknown.
    private static let reach: Int64 = 100_000

    /// Returns the facts about a goal's subject, from one snapshot of the file, without decrypting
    /// a value.
    public func freshness(
        of goal: FreshnessGoal, now: Instant
    ) throws(HealthStoreError) -> FreshnessFacts {
        try access { connection in
            try connection.snapshot {
                var facts = FreshnessFacts()
                switch goal.subject {
                case .samples(let kind):
                    for kind in FreshnessGoal.kinds(serving: kind) {
                        try look(for: kind, since: now - goal.within, &facts, connection)
                    }
                    facts.lastReading = try outbox.lastSourceReading(connection)
                case .insights, .profile: facts.newest = try newest(of: goal.subject, connection)
                }
                return facts
            }
        }
    }

    /// Returns `FreshnessFacts.newest` alone, which takes less than a millisecond unless many
    /// samples wait.
    func newest(of subject: FreshnessGoal.Subject) throws(HealthStoreError) -> Instant? {
        try access { connection in
            try connection.snapshot { try newest(of: subject, connection) }
        }
    }

    private func newest(
        of subject: FreshnessGoal.Subject, _ connection: Connection
    ) throws -> Instant? {
        switch subject {
        case .samples(let kind):
            try FreshnessGoal.kinds(serving: kind).compactMap {
                try newestDelivered($0, connection)
            }.max()
        case .insights: try connection.instant("SELECT max(timestamp_ms) FROM insights")
        case .profile: try connection.instant("SELECT max(synced_at_ms) FROM profile")
        }
    }

    private func newestDelivered(_ kind: SampleKind, _ connection: Connection) throws -> Instant? {
        let last = try newest(kind, HealthStore.delivered, connection)
        // A sample that began before the last one, such as a night, may end after it.
        let longest = try last.flatMap { last in
            try connection.first(
                """
                SELECT max(\(HealthStore.end)) FROM samples
                WHERE kind = ? AND start_s >= ? AND state IN (\(HealthStore.delivered))
                """, .text(kind.rawValue), .integer(last.secondsSince1970 - 2 * 86_400)
            ) { Instant(secondsSince1970: $0.integer(0)) }
        }
        let packed = try PackedSamples(cipher: cipher, connection: connection).totals(of: kind)
        return [longest, packed.map { Instant(secondsSince1970: $0.lastEnd) }]
            .compactMap(\.self).max()
    }

    /// A sample's time: its end, or for an unfinished day the time up to which it is known.
    private static let end = "min(end_s, coalesce(as_of_s, end_s))"
    /// The states of samples that the backend has, as a list in SQL.
    private static let delivered = "'confirmed', 'stored', 'accepted'"

    /// Returns the time of the newest sample in some states, among the last `reach` samples.
    private func newest(
        _ kind: SampleKind, _ states: String, _ connection: Connection
    ) throws -> Instant? {
        // SQLite sorts all samples in reach, so look at a few first.
        for reach in [500, HealthStore.reach] {
            let newest = try connection.first(
                """
                SELECT \(HealthStore.end) FROM (
                    SELECT state, start_s, end_s, as_of_s FROM samples
                    WHERE kind = ? ORDER BY start_s DESC LIMIT \(reach)) AS newest
                WHERE state IN (\(states)) ORDER BY start_s DESC LIMIT 1
                """, .text(kind.rawValue)
            ) { Instant(secondsSince1970: $0.integer(0)) }
            if let newest { return newest }
        }
        return nil
    }

    /// Searches the samples that may meet the goal. If none was accepted, searches the newest
    /// accepted one, and the newest that waits.
    private func look(
        for kind: SampleKind, since limit: Instant, _ facts: inout FreshnessFacts,
        _ connection: Connection
    ) throws {
        var taken: Instant?
        // Two days earlier, because the longest samples are a day or a night.
        try connection.forEach(
            """
            SELECT state, max(\(HealthStore.end)) FROM samples
            WHERE kind = ? AND start_s >= ? GROUP BY state
            """,
            [.text(kind.rawValue), .integer(limit.secondsSince1970 - 2 * 86_400)]
        ) { row in
            let instant = Instant(secondsSince1970: row.integer(1))
            guard let state = OutboxState(rawValue: row.text(0)) else { return }
            if let place = state.place {
                let known = facts.elsewhere[place] ?? instant
                if instant >= limit { facts.elsewhere[place] = max(known, instant) }
            } else {
                taken = max(taken ?? instant, instant)
            }
        }
        let packed = PackedSamples(cipher: cipher, connection: connection)
        if let last = try packed.totals(of: kind)?.lastEnd {
            let instant = Instant(secondsSince1970: last)
            taken = max(taken ?? instant, instant)
        }
        if taken == nil { taken = try newest(kind, HealthStore.delivered, connection) }
        if let taken { facts.newest = max(facts.newest ?? taken, taken) }
        if facts.elsewhere[.waiting].map({ $0 < limit }) ?? true,
            let waiting = try newest(kind, "'queued', 'sending'", connection)
        {
            facts.elsewhere[.waiting] = max(facts.elsewhere[.waiting] ?? waiting, waiting)
        }
    }
}

extension OutboxState {
    /// Where a sample in this state counts; `nil` if the backend has it.
    fileprivate var place: FreshnessFacts.Place? {
        switch self {
        case .queued, .sending: .waiting
        case .accepted, .confirmed, .stored: nil
        case .unconfirmed: .unconfirmed
        case .setAside: .setAside
        case .rejected: .rejected
        }
    }
}

/// The maximum age of some data: one line of `fresh:`, or a default derived from the jobs.
public struct FreshnessGoal: Hashable, Sendable {
    /// The data whose age is limited.
    public enum Subject: Hashable, Sendable {
        /// The newest sample of a kind that the backend has accepted. For the parts of a day, such
        /// as steps, the newest day counts too.
        case samples(SampleKind)
        case insights
        case profile

        /// The name in the job file.
        public var name: String {
            switch self {
            case .samples(let kind): kind.rawValue
            case .insights: "insights"
            case .profile: "profile"
            }
        }
    }

    public let subject: Subject
    public let within: Duration
    /// Whether the goal is a default, with no line in `fresh:`.
    ///
    /// A default goal requires of the jobs that they deliver what there is, but not of the wearer
    /// that there is any data.
    public let isDefault: Bool

    /// Creates a goal.
    public init(_ subject: Subject, within: Duration, isDefault: Bool = false) {
        self.subject = subject
        self.within = within
        self.isDefault = isDefault
    }

    /// The minimum span of a default goal: a job that waits for night and charger takes a day.
    static let leastDefault: Duration = .seconds(2 * 86_400)

    /// Returns the default goals of subjects.
    ///
    /// A default is three times the longest gap between two occurrences of the job that delivers
    /// the subject, and at least two days. A subject that no scheduled job delivers has none.
    public static func defaults(for subjects: [Subject], jobs: [BringingJob]) -> [FreshnessGoal] {
        subjects.compactMap { subject in
            guard let gap = FreshnessVerdict.job(bringing: subject, among: jobs)?.gap else {
                return nil
            }
            return FreshnessGoal(subject, within: max(gap * 3, leastDefault), isDefault: true)
        }
    }

    /// Returns the kinds whose samples count for a goal of this kind.
    static func kinds(serving kind: SampleKind) -> [SampleKind] {
        ActivityDay.kinds.contains(kind) ? [kind, .activity] : [kind]
    }
}
