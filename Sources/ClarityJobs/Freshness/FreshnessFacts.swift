public import ClarityScheduler
import SQLite

/// What the store knows of a goal's subject.
public struct FreshnessFacts: Hashable, Sendable {
    /// Where samples are that the backend has not taken.
    public enum Place: String, CaseIterable, Hashable, Sendable {
        /// Queued, or being sent.
        case waiting
        /// Taken, and never confirmed.
        case unconfirmed
        case setAside = "set aside"
        case rejected
    }

    /// The newest that counts: a sample that the backend has confirmed or taken, an insight, or when
    /// the profile was pulled; `nil` for none.
    public var newest: Instant?
    /// The newest sample in each other place, of those that would serve the goal.
    public var elsewhere: [Place: Instant] = [:]
    /// When a source was last read to its end.
    public var lastReading: Instant?

    /// Creates facts of nothing.
    public init() {}
}

extension HealthStore {
    /// What has come at least once, samples first and in the order of their kinds.
    public func arrivedSubjects() throws(HealthStoreError) -> [FreshnessGoal.Subject] {
        try access { connection in
            var subjects: [FreshnessGoal.Subject] = []
            for kind in SampleKind.allCases {
                let row = try connection.first(
                    "SELECT 1 FROM outbox INDEXED BY outbox_sample WHERE kind = ? LIMIT 1",
                    .text(kind.rawValue)
                ) { _ in true }
                if row != nil { subjects.append(.samples(kind)) }
            }
            let pulled = [("insights", FreshnessGoal.Subject.insights), ("profile", .profile)]
            for (table, subject) in pulled {
                let row = try connection.first("SELECT 1 FROM \(table) LIMIT 1") { _ in true }
                if row != nil { subjects.append(subject) }
            }
            return subjects
        }
    }

    /// The most samples that are looked at for the newest one that was taken; where more than these
    /// wait, it counts as unknown.
    private static let reach: Int64 = 100_000

    /// What is known of a goal's subject, in one state of the file; reads no value.
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
                    // Of what an earlier version read, the source alone knows.
                    facts.lastReading = try HealthStore.instant(
                        """
                        SELECT max(at_ms) FROM (SELECT read_at_ms AS at_ms FROM sources
                            UNION ALL SELECT finished_at_ms FROM readings WHERE state = 'ended')
                        """, connection)
                case .insights:
                    facts.newest = try HealthStore.instant(
                        "SELECT max(timestamp_ms) FROM insights", connection)
                case .profile:
                    facts.newest = try HealthStore.instant(
                        "SELECT max(synced_at_ms) FROM profile", connection)
                }
                return facts
            }
        }
    }

    /// Looks at the samples that may serve the goal, and where none was taken for the newest that was.
    ///
    /// A sample counts by its end, a day that is not over by what was known of it.
    private func look(
        for kind: SampleKind, since limit: Instant, _ facts: inout FreshnessFacts,
        _ connection: Connection
    ) throws {
        let end = "min(end_s, coalesce(as_of_s, end_s))"
        var taken: Instant?
        // The longest sample is a day or a night.
        try connection.forEach(
            """
            SELECT state, max(\(end)) FROM outbox INDEXED BY outbox_sample
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
        if taken == nil {
            taken = try connection.first(
                """
                SELECT \(end) FROM (
                    SELECT state, start_s, end_s, as_of_s FROM outbox INDEXED BY outbox_sample
                    WHERE kind = ? ORDER BY start_s DESC LIMIT \(HealthStore.reach))
                WHERE state IN ('confirmed', 'stored', 'accepted') ORDER BY start_s DESC LIMIT 1
                """, .text(kind.rawValue)
            ) { Instant(secondsSince1970: $0.integer(0)) }
        }
        if let taken { facts.newest = max(facts.newest ?? taken, taken) }
    }

    private static func instant(_ sql: String, _ connection: Connection) throws -> Instant? {
        try connection.first(sql) { row in
            row.optionalInteger(0).map { Instant(millisecondsSince1970: $0) }
        } ?? nil
    }
}

extension OutboxState {
    /// Where a sample of this state is, unless the backend has it.
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
