@testable import ClarityHost
import ClarityScheduler
import ClarityTestSupport
import Database
import Testing

@Suite("The facts of accounts in the history")
struct FactRowTests {
    let bed: SQLiteRunStoreBed
    let store: any RunStore
    let anna: AccountID

    init() throws {
        bed = try SQLiteRunStoreBed()
        store = try bed.open().store
        anna = try #require(AccountID("anna"))
    }

    @Test func `facts replace all former ones of their account and no others`() throws {
        try put([("waiting", 3), ("seen", nil)], of: anna, at: .noon)
        try put([("waiting", 4)], of: nil, at: .noon)

        try put([("waiting", 2), ("rejected", 1)], of: anna, at: .noon + .seconds(1))

        #expect(try rows() == ["|waiting|4", "anna|rejected|1", "anna|waiting|2"])
    }

    @Test func `facts that are older than the known ones change nothing`() throws {
        try put([("waiting", 2)], of: anna, at: .noon + .seconds(1))

        try put([("waiting", 3)], of: anna, at: .noon, endsAt: .noon + .seconds(2))

        #expect(try rows() == ["anna|waiting|2"])
    }

    @Test func `facts of a clock that was set back are replaced`() throws {
        try put([("waiting", 2)], of: anna, at: .noon + .seconds(86_400))

        try put([("waiting", 3)], of: anna, at: .noon)

        #expect(try rows() == ["anna|waiting|3"])
    }

    private func put(
        _ facts: [(String, Int64?)], of account: AccountID?, at instant: Instant,
        endsAt end: Instant? = nil
    ) throws {
        let facts = facts.map { AttemptFact($0, $1, at: instant) }
        try store.decide { _ in [.putFacts(facts, of: account, at: end ?? instant)] }
    }

    private func rows() throws -> [String] {
        try FileConnection(path: "\(bed.path)/history.db").all(
            """
            SELECT account || '|' || name || '|' || coalesce(value, '') FROM account_facts
            ORDER BY account, name
            """
        ) { $0.text(0) }
    }
}
