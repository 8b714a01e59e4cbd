public import HealthStore
public import ClarityScheduler
import Platform

/// Whether an account is up to date, as far as its last attempt reported.
public struct AccountStatus: Sendable {
    public enum State: String, CaseIterable, Sendable {
        /// Every goal holds.
        case fresh
        /// Every goal holds, but a job should have started and no scheduler has looked at it.
        case overdue
        case notFresh = "not_fresh"
        /// No attempt has reported yet, or none since the job file has one of the goals.
        case unknown
    }

    /// What the history says of the account's jobs, in words.
    public struct Jobs: Sendable {
        /// When the jobs that are overdue should have started.
        public var overdue: [(job: String, since: Instant)] = []
        /// Which jobs failed or are paused.
        public var troubles: [String] = []
        /// What jobs wait for; shown only if the account is not up to date.
        public var waits: [String] = []

        /// Creates the jobs of an account that are all well.
        public init() {}
    }

    /// The account's id, or the job file's name if it has no accounts.
    public let name: String
    public let state: State
    /// When the first goal stops to hold if nothing more arrives; `nil` unless all goals hold.
    public let until: Instant?
    /// Since when a goal is missed or a job overdue; `nil` for data that never arrived.
    public let since: Instant?
    /// Why the account is not up to date, and what else is wrong with its jobs.
    public let why: [String]
    private let missed: [FreshnessGoal.Subject]
    private let facts: AccountFacts?

    /// Decides whether an account is up to date.
    ///
    /// - Parameter facts: what the last attempt reported; `nil` if there was none.
    public init(
        _ name: String, goals: [FreshnessGoal], _ facts: AccountFacts?, _ jobs: Jobs, now: Instant
    ) {
        var ends: [Instant] = []
        var past: [FreshnessGoal.Subject] = []
        var never: [FreshnessGoal.Subject] = []
        var unknown: [FreshnessGoal.Subject] = []
        var since: Instant?
        for subject in goals.map(\.subject) {
            switch facts?.freshUntil[subject] {
            case nil: unknown.append(subject)
            case .some(nil): never.append(subject)
            case .some(let end?) where end < now:
                past.append(subject)
                since = min(since ?? end, end)
            case .some(let end?): ends.append(end)
            }
        }
        self.name = name
        self.facts = facts
        missed = past + never
        if !missed.isEmpty {
            state = .notFresh
        } else if facts == nil || !unknown.isEmpty {
            state = .unknown
        } else {
            state = jobs.overdue.isEmpty ? .fresh : .overdue
        }
        let allHold = state == .fresh || state == .overdue
        until = allHold ? ends.min() : nil
        self.since = since ?? (state == .overdue ? jobs.overdue.map(\.since).min() : nil)
        why =
            AccountStatus.list(past, "missed") + AccountStatus.list(never, "never arrived")
            + (facts == nil ? [] : AccountStatus.list(unknown, "not looked at yet"))
            + (missed.isEmpty ? [] : AccountStatus.reasons(facts))
            + jobs.overdue.map { "\($0.job) was due at \($0.since)" } + jobs.troubles
            + (allHold ? [] : jobs.waits)
    }

    private static func list(_ subjects: [FreshnessGoal.Subject], _ words: String) -> [String] {
        subjects.isEmpty ? [] : ["\(subjects.map(\.name).joined(separator: ", ")) \(words)"]
    }

    /// Returns what the facts say about the reason for missed goals.
    private static func reasons(_ facts: AccountFacts?) -> [String] {
        guard let facts else { return [] }
        let (waiting, decide) = (facts.counts[.waiting] ?? 0, facts.forPerson)
        let reading = facts.lastReading.map { "sources last read at \($0)" }
        return [
            facts.isLoggedIn == false ? "nobody is logged in" : nil,
            waiting > 0 ? "\(counted(waiting, "samples")) waiting" : nil,
            decide > 0 ? "\(counted(decide, "samples")) for you to decide" : nil,
            reading ?? "no source was ever read",
        ].compactMap(\.self)
    }

    /// The account as a line for people.
    public var line: String {
        let head =
            switch state {
            case .fresh: until.map { "fresh until \($0)" } ?? "no goals"
            case .overdue: "overdue"
            case .notFresh: "not fresh\(since.map { " since \($0)" } ?? "")"
            case .unknown: facts == nil ? "nothing known yet" : "not known"
            }
        return ([name, head] + (why.isEmpty ? [] : [why.joined(separator: "; ")]))
            .joined(separator: ": ")
    }
}

extension AccountStatus: Reported {
    public static let report = Report<AccountStatus>([
        Column("account", "id of the account, or name of a job file without accounts") {
            $0.name
        },
        Column("state", "`fresh`, `overdue`, `not_fresh` or `unknown`") { $0.state.rawValue },
        Column("until", "when the first goal is missed if nothing arrives") { $0.until },
        Column("since", "since when a goal is missed or a job overdue") { $0.since },
        Column("missed", "the goals that are missed") { $0.missed.map(\.name) },
        Column("why", "the reasons, and other faults of its jobs, in words") {
            $0.why.map(\.forReport)
        },
        Column("waiting", "number of samples that wait to be sent") {
            $0.facts.map { $0.counts[.waiting] ?? 0 }
        },
        Column("for_person", "number of samples that need a person") { $0.facts?.forPerson },
        Column("logged_in", "whether somebody is logged in; none without a backend") {
            $0.facts?.isLoggedIn
        },
        Column("last_reading_at", "when a source was last read to its end") {
            $0.facts?.lastReading
        },
        Column("known_at", "when an attempt last reported all this") { $0.facts?.at },
    ])
}

/// The accounts of a job file.
public struct AccountsReport: Sendable {
    public let accounts: [AccountStatus]

    /// Creates a report of accounts in the order in which they are shown.
    public init(_ accounts: [AccountStatus]) { self.accounts = accounts }

    /// Whether every account is up to date, and none has an overdue job.
    public var holds: Bool { accounts.allSatisfy { $0.state == .fresh } }

    /// Returns the accounts, or with `missedOnly` those that are not up to date.
    public func shown(missedOnly: Bool) -> [AccountStatus] {
        missedOnly ? accounts.filter { $0.state != .fresh } : accounts
    }

    /// The last line for people, such as `3 accounts: 2 fresh, 1 not fresh`.
    public var sum: String {
        let words: [(AccountStatus.State, String)] = [
            (.fresh, "fresh"), (.notFresh, "not fresh"), (.overdue, "overdue"),
            (.unknown, "not known"),
        ]
        let parts = words.compactMap { state, word in
            let number = accounts.count { $0.state == state }
            return number > 0 ? "\(number) \(word)" : nil
        }
        let head = counted(accounts.count, "accounts")
        return parts.isEmpty ? head : "\(head): \(parts.joined(separator: ", "))"
    }

    /// Returns the accounts for programs, with `missedOnly` those that are not up to date.
    public func result(missedOnly: Bool) -> AccountsResult {
        AccountsResult(holds: holds, accounts: shown(missedOnly: missedOnly))
    }
}

/// The result of `status --all`.
public struct AccountsResult: Reported {
    let holds: Bool
    let accounts: [AccountStatus]

    public static let report = Report<AccountsResult>([
        Column("holds", "whether every account is fresh and no job is overdue") { $0.holds },
        Column("accounts", "the accounts; with --quiet those that are not fresh") {
            $0.accounts
        },
    ])
}

extension AccountFacts {
    /// The number of samples that only a person can move.
    fileprivate var forPerson: Int64 {
        FreshnessFacts.Place.allCases.filter { $0 != .waiting }.reduce(0) {
            $0 + (counts[$1] ?? 0)
        }
    }
}
