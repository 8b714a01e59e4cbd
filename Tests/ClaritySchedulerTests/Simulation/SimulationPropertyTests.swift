import ClarityTestSupport
import Testing

@Suite("Simulations of random jobs")
struct SimulationPropertyTests {
    /// A failure prints its seed; `CLARITY_TEST_SEED=SEED` starts with that seed.
    @Test(arguments: TrialSeed.batches(of: 60, count: 15))
    func `each occurrence has one outcome, and what may not start does not`(
        seeds: Range<UInt64>
    ) throws {
        for seed in seeds { try SimulationTrial(seed: seed).run() }
    }
}
