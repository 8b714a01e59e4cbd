import HealthModel
public import ClarityScheduler

/// What the history keeps of an account's health data, so that nobody has to open it to see whether
/// the account is up to date: times and counts alone.
public struct AccountFacts: Hashable, Sendable {
    /// When each goal stops to hold if nothing more arrives; `.some(nil)` if nothing ever arrived.
    public var freshUntil: [FreshnessGoal.Subject: Instant?] = [:]
    /// The number of samples in each place.
    public var counts: [FreshnessFacts.Place: Int64] = [:]
    /// `nil` without a backend to log in to.
    public var isLoggedIn: Bool?
    /// When a source was last read to its end.
    public var lastReading: Instant?
    /// When the worker looked.
    public var at: Instant

    /// Creates the facts of an account without goals and data.
    public init(at instant: Instant) { at = instant }

    private static let goalPrefix = "fresh_until."
    private static let loggedIn = "logged_in"
    private static let lastReading = "last_reading"

    /// The facts as an attempt reports them, in a fixed order.
    public var reported: [AttemptFact] {
        let goals = freshUntil.map { ($0.key.name, $0.value) }.sorted { $0.0 < $1.0 }.map {
            AttemptFact(AccountFacts.goalPrefix + $0, $1?.millisecondsSince1970, at: at)
        }
        let places = FreshnessFacts.Place.allCases.map {
            AttemptFact($0.factName, counts[$0] ?? 0, at: at)
        }
        return goals + places + [
            AttemptFact(AccountFacts.loggedIn, isLoggedIn.map { $0 ? 1 : 0 }, at: at),
            AttemptFact(AccountFacts.lastReading, lastReading?.millisecondsSince1970, at: at),
        ]
    }

    /// Adds what a fact says; a name that this version does not know says nothing.
    public mutating func add(_ name: String, _ value: Int64?) {
        let instant = value.map { Instant(millisecondsSince1970: $0) }
        switch name {
        case AccountFacts.loggedIn: isLoggedIn = value.map { $0 == 1 }
        case AccountFacts.lastReading: lastReading = instant
        default:
            if let place = FreshnessFacts.Place.byFactName[name] {
                counts[place] = value
            } else if let subject = FreshnessGoal.Subject.byFactName[name] {
                freshUntil.updateValue(instant, forKey: subject)
            }
        }
    }
}

extension HealthStore {
    /// Returns the facts of this account.
    ///
    /// - Parameter hasBackend: whether there is a backend, to which samples have to be delivered.
    public func accountFacts(
        for goals: [FreshnessGoal], hasBackend: Bool, now: Instant
    ) throws(HealthStoreError) -> AccountFacts {
        var facts = AccountFacts(at: now)
        for goal in goals {
            let newest =
                hasBackend
                ? try newest(of: goal.subject)
                : try freshness(of: goal, hasBackend: false, now: now).newest
            facts.freshUntil.updateValue(newest.map { $0 + goal.within }, forKey: goal.subject)
        }
        facts.lastReading = try outbox.lastSourceReading()
        guard hasBackend else { return facts }
        let backlog = try outbox.backlog()
        facts.counts = [
            .waiting: backlog.waiting, .unconfirmed: backlog[.unconfirmed],
            .setAside: backlog[.setAside], .rejected: backlog[.rejected],
        ]
        facts.isLoggedIn = try sessions.isUsable(at: now)
        return facts
    }
}

extension FreshnessFacts.Place {
    /// The name of the count of the samples there.
    fileprivate var factName: String { rawValue.replacing(" ", with: "_") }

    fileprivate static let byFactName = Dictionary(
        uniqueKeysWithValues: allCases.map { ($0.factName, $0) })
}

extension FreshnessGoal.Subject {
    fileprivate static let byFactName = Dictionary(
        uniqueKeysWithValues: (SampleKind.allCases.map(Self.samples) + [.insights, .profile]).map {
            ("fresh_until.\($0.name)", $0)
        })
}
