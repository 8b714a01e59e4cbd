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

    /// The same facts where there is no backend to deliver to: what is here has arrived.
    fileprivate var withoutBackend: FreshnessFacts {
        var facts = self
        facts.newest = ([newest].compactMap(\.self) + elsewhere.values).max()
        facts.elsewhere = [:]
        return facts
    }
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
    ///
    /// - Parameter hasBackend: whether there is a backend to which samples have to be delivered.
    public func freshness(
        of goal: FreshnessGoal, hasBackend: Bool, now: Instant
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
                return hasBackend ? facts : facts.withoutBackend
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
        return [longest, packed?.lastDeliveredEnd.map { Instant(secondsSince1970: $0) }]
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
        let totals = try packed.totals(of: kind)
        if let last = totals?.lastDeliveredEnd {
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
        if let totals, totals.kept > 0 {
            let kept = Instant(secondsSince1970: totals.lastEnd)
            facts.elsewhere[.waiting] = max(facts.elsewhere[.waiting] ?? kept, kept)
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

/// A job that delivers the subject of a goal, with its state in the scheduler.
public struct BringingJob: Hashable, Sendable {
    public var id: String
    public var kind: JobKind
    /// The state of the job, for people: `waits for network: wanted connected, is no route`.
    public var status: String
    /// Whether the job is disabled, or something other than its schedule holds it back.
    public var isHeldBack: Bool
    /// Whether the job is due and no scheduler has looked at it since.
    public var isOverdue: Bool
    /// When a run of the job last succeeded, as far as the history goes back.
    public var lastSuccess: Instant?
    /// How its last run failed, if it did: nothing has succeeded since.
    public var failure: JobFailure?
    /// Whether the last attempt of its unfinished run failed.
    public var isRetrying = false
    /// Whether a run of it waits until somebody logs in.
    public var waitsForLogin: Bool
    /// The fault of its declaration for which it is held.
    public var fault: String?
    /// The longest time between two of its coming occurrences; `nil` without a schedule.
    public var gap: Duration?

    /// Creates a job.
    public init(
        id: String, kind: JobKind, status: String, isHeldBack: Bool, isOverdue: Bool = false,
        lastSuccess: Instant?, failure: JobFailure? = nil, waitsForLogin: Bool = false,
        fault: String? = nil, gap: Duration? = nil
    ) {
        self.id = id
        self.kind = kind
        self.status = status
        self.isHeldBack = isHeldBack
        self.isOverdue = isOverdue
        self.lastSuccess = lastSuccess
        self.failure = failure
        self.waitsForLogin = waitsForLogin
        self.fault = fault
        self.gap = gap
    }

    /// Whether somebody has to do something about it.
    public var isTrouble: Bool { fault != nil || failure != nil || isOverdue || waitsForLogin }
}

/// The run with which a job failed for good.
public struct JobFailure: Hashable, Sendable {
    public var run: Int64
    public var at: Instant
    public var reason: String

    /// Creates a failure.
    public init(run: Int64, at: Instant, reason: String) {
        self.run = run
        self.at = at
        self.reason = reason
    }
}

/// Whether a goal is met, and if not, why.
public struct FreshnessVerdict: Hashable, Sendable {
    /// Who or what would have to act.
    public enum Blame: Hashable, Sendable {
        /// The source had nothing newer; `nil` if no source was ever read.
        case source(lastReading: Instant?)
        /// The data waits for this job.
        case job(BringingJob)
        /// The backend accepted a sample and never confirmed it, or has no newer insight.
        case backend
        /// Samples wait for a person's decision.
        case person(FreshnessFacts.Place)
        /// Nobody is logged in.
        case login
        /// The job file has no job that delivers the subject.
        case noJob
    }

    public let goal: FreshnessGoal
    /// The age of the newest data, at least 0; `nil` if there is none.
    public let age: Duration?
    /// Why there is nothing newer; `nil` if the newest is new enough.
    public let blame: Blame?

    /// Whether the goal is met; a default goal is also met if no job could deliver more than there
    /// is.
    public var holds: Bool {
        switch (blame, goal.subject) {
        case (nil, _): true
        case (.source, _), (.backend, .insights), (.backend, .profile): goal.isDefault
        default: false
        }
    }

    /// Decides whether a goal is met, and if not, why.
    ///
    /// The goal is met while the newest data is no older than `within`. Otherwise the newest sample
    /// that would meet the goal, but is not delivered, decides: a waiting sample waits for its job
    /// or a login, also one that is older, but newer than all that is delivered. If there is no
    /// such sample, it depends on whether somebody has looked within `within`. If so, there was
    /// nothing new. If not, the cause is the job if it is held back, and otherwise the source. For
    /// pulled data it is the login or the job.
    ///
    /// - Parameter jobs: the jobs of the job file, in its order.
    public init(
        on goal: FreshnessGoal, _ facts: FreshnessFacts, jobs: [BringingJob], isLoggedIn: Bool,
        now: Instant
    ) {
        self.goal = goal
        age = facts.newest.map { max(now - $0, .zero) }
        let limit = now - goal.within
        guard facts.newest.map({ $0 < limit }) ?? true else {
            blame = nil
            return
        }
        let job = FreshnessVerdict.job(bringing: goal.subject, among: jobs)
        switch goal.subject {
        case .samples:
            blame = FreshnessVerdict.blame(for: facts, since: limit, job, isLoggedIn)
        case .insights, .profile:
            if !isLoggedIn {
                blame = .login
            } else if let job {
                blame = (job.lastSuccess.map { $0 >= limit } ?? false) ? .backend : .job(job)
            } else {
                blame = .noJob
            }
        }
    }

    private static func blame(
        for facts: FreshnessFacts, since limit: Instant, _ job: BringingJob?, _ isLoggedIn: Bool
    ) -> Blame {
        let undelivered = facts.elsewhere.filter { place, end in
            end >= limit || place == .waiting && facts.newest.map { end > $0 } ?? true
        }
        let newest = undelivered.values.max()
        let place = FreshnessFacts.Place.allCases.first {
            undelivered[$0] != nil && undelivered[$0] == newest
        }
        switch place {
        case .waiting where !isLoggedIn: return .login
        case .waiting: return job.map { .job($0) } ?? .noJob
        case .unconfirmed: return .backend
        case .setAside: return .person(.setAside)
        case .rejected: return .person(.rejected)
        case nil: break
        }
        guard let job else { return .noJob }
        // A reading that found nothing new is recorded only as the run that made it.
        let reading = [facts.lastReading, job.lastSuccess].compactMap { $0 }.max()
        if let reading, reading >= limit { return .source(lastReading: reading) }
        return job.isHeldBack ? .job(job) : .source(lastReading: reading)
    }

    /// Returns the job that delivers a subject: the first one with the first of these kinds that
    /// exists.
    static func job(
        bringing subject: FreshnessGoal.Subject, among jobs: [BringingJob]
    ) -> BringingJob? {
        let kinds: [JobKind] =
            switch subject {
            case .samples: [.bulkUpload, .importing]
            case .insights: [.insightHistory, .refresh]
            case .profile: [.refresh]
            }
        for kind in kinds {
            if let job = jobs.first(where: { $0.kind == kind }) { return job }
        }
        return nil
    }
}
