import Database

@testable import ClarityScheduler
@testable import HealthModel
@testable import HealthStore

// What only tests ask of a store.

/// The steps of seven days, minute by minute.
enum StepWeek: Hashable, Sendable {
    /// 10,080 counts, oldest first, and for each whether its minute had passed when the last source
    /// was made.
    case known(counts: [UInt32], isKnown: [Bool])
    /// The number of days, of the seven, for which nothing is stored.
    case missing(days: Int)
}

extension Analyses {
    /// Returns the steps of the seven days that end with `last`, minute by minute.
    func stepMinutes(endingOn last: CivilDay) throws(HealthStoreError) -> StepWeek {
        let days = try stepDays(endingOn: last)
        guard days.count == 7 else { return .missing(days: 7 - days.count) }
        return .known(
            counts: days.flatMap(\.counts),
            isKnown: days.flatMap { day in (0..<StepDay.minutes).map { $0 < day.knownMinutes } })
    }

    /// Returns the analysis with this number, or `nil` if there is none.
    func analysis(_ id: Int64) throws(HealthStoreError) -> StoredAnalysis? {
        try store.first(
            "SELECT \(StoredAnalysis.Column.list) FROM analyses WHERE id = ?", .integer(id),
            map: StoredAnalysis.init)
    }
}

extension HealthStore {
    /// Removes everything that the store has of every kind from before `cutoff`.
    func prune(before cutoff: Instant) throws(HealthStoreError) -> PruneReceipt {
        var receipt = PruneReceipt()
        for kind in PrunedKind.allCases {
            var cursor = PruneCursor()
            while try prune(kind, before: cutoff, from: &cursor, into: &receipt) {}
        }
        return receipt
    }
}
