import ClarityTestSupport
import Testing

@Suite("The planner in random lives")
struct PlannerPropertyTests {
    private static let trials = 50

    /// A failure names its seed; `arguments: [seed...seed]` repeats it alone.
    @Test(arguments: (0..<30).map { UInt64($0 * trials)..<UInt64(($0 + 1) * trials) })
    func `its rules hold whatever happens, and everything comes to an end`(
        seeds: Range<UInt64>
    ) throws {
        for seed in seeds {
            var trial = PlannerTrial(seed: seed, on: MemoryRunStoreBed())

            try trial.run(steps: 30)
        }
    }
}
