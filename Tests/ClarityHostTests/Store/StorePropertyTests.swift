import ClarityTestSupport
import Testing

@Suite("The store in SQLite in random lives")
struct StorePropertyTests {
    /// A failure prints its seed; `arguments: [seed]` repeats it alone.
    @Test(arguments: UInt64(0)..<24)
    func `it refuses no decision of a planner, whatever happens`(seed: UInt64) throws {
        var trial = PlannerTrial(seed: seed, on: try SQLiteRunStoreBed())

        try trial.run(steps: 30)
    }
}
