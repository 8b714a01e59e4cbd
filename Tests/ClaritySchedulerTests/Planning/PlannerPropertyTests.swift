import ClarityTestSupport
import Testing

@Suite("The planner in random lives")
struct PlannerPropertyTests {
    private static let trials = 100

    /// A failure prints its seed; `CLARITY_TEST_SEED=SEED` starts with that seed.
    @Test(arguments: TrialSeed.batches(of: trials, count: 25))
    func `the planner's rules hold whatever happens, and every run ends`(
        seeds: Range<UInt64>
    ) throws {
        for seed in seeds {
            var trial = PlannerTrial(seed: seed, on: MemoryRunStoreBed())

            try trial.run(steps: 30)
        }
    }
}
