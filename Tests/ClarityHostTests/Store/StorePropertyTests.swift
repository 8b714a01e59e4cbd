import ClarityTestSupport
import Testing

@Suite("Stores in random lives")
struct StorePropertyTests {
    /// A failure prints its seed; `arguments: [seed]` repeats it alone.
    @Test(arguments: UInt64(0)..<24)
    func `SQLite refuses no decision of a planner, whatever happens`(seed: UInt64) throws {
        var trial = PlannerTrial(seed: seed, on: try SQLiteRunStoreBed())

        try trial.run(steps: 30)
    }

    @Test(
        .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"),
        arguments: UInt64(0)..<24)
    func `PostgreSQL refuses no decision of a planner, whatever happens`(
        seed: UInt64
    ) async throws {
        var trial = PlannerTrial(seed: seed, on: try await PostgresRunStoreBed())

        try trial.run(steps: 30)
    }
}
