import ClarityScheduler
import Testing

struct RetryPolicyTests {
    @Test(
        arguments: [
            (1, 30), (2, 60), (3, 120), (4, 240), (5, 480), (6, 960), (7, 1920), (8, 3840),
            (9, 7680), (10, 15_360), (11, 18_000), (12, 18_000), (41, 18_000), (42, 18_000),
            (64, 18_000), (1000, 18_000), (Int.max, 18_000),
        ] as [(Int, Int64)])
    func `an exponential wait doubles up to the cap`(failures: Int, seconds: Int64) {
        var none = ConstantGenerator(value: 1)

        let wait = RetryPolicy().wait(afterFailures: failures, using: &none)

        #expect(wait == .seconds(seconds))
    }

    @Test(
        arguments: [
            (1, 30), (2, 60), (3, 90), (599, 17_970), (600, 18_000), (601, 18_000), (1000, 18_000),
            (Int.max, 18_000),
        ] as [(Int, Int64)])
    func `a linear wait grows by the initial one up to the cap`(failures: Int, seconds: Int64) {
        var none = ConstantGenerator(value: 1)

        let wait = RetryPolicy(backoff: .linear).wait(afterFailures: failures, using: &none)

        #expect(wait == .seconds(seconds))
    }

    @Test func `jitter takes off up to a tenth and no more`() {
        var most = ConstantGenerator(value: .max)

        let first = RetryPolicy().wait(afterFailures: 1, using: &most)
        let capped = RetryPolicy().wait(afterFailures: 11, using: &most)

        #expect(first == .seconds(27))
        #expect(capped == .seconds(16_200))
    }

    @Test func `waits of a seeded generator are these`() {
        var generator = SplitMix(seed: 20_261_120)
        let policy = RetryPolicy()

        let waits = (1...5).map {
            policy.wait(afterFailures: $0, using: &generator).milliseconds
        }

        #expect(waits == [28_873, 54_746, 117_758, 220_447, 457_450])
    }

    @Test(arguments: [1, 11, 1000])
    func `jitter spreads waits evenly inside the cap`(failures: Int) {
        var generator = SplitMix(seed: 7)
        let policy = RetryPolicy()
        let longest = failures == 1 ? 30_000.0 : 18_000_000.0
        var tenths = [Int](repeating: 0, count: 10)
        var outside = 0

        for _ in 0..<10_000 {
            let wait = policy.wait(afterFailures: failures, using: &generator).milliseconds
            let taken = (longest - Double(wait)) / (longest / 10)
            if (0...1).contains(taken) {
                tenths[min(9, Int(taken * 10))] += 1
            } else {
                outside += 1
            }
        }

        // The test expects 1000 waits in each tenth; five standard deviations are 150.
        #expect(outside == 0)
        #expect(tenths.allSatisfy { (850...1150).contains($0) }, "\(tenths) with seed 7")
    }

    @Test func `an initial wait above the cap is cut to it`() {
        var none = ConstantGenerator(value: 1)
        let policy = RetryPolicy(initial: .seconds(100), maximum: .seconds(50))

        let wait = policy.wait(afterFailures: 1, using: &none)

        #expect(wait == .seconds(50))
    }

    @Test func `the standards are those of WorkManager`() {
        let policy = RetryPolicy()

        #expect(policy.attempts == 5)
        #expect(policy.backoff == .exponential)
        #expect(policy.initial == .seconds(30))
        #expect(RetryPolicy.shortestInitial == .seconds(10))
        #expect(RetryPolicy.longestMaximum == .seconds(18_000))
    }
}

/// Returns the same number each time: 1 gives the lower end of any range, `.max` the upper end.
///
/// It must not return 0: to stay uniform, the standard library then draws again, without end.
private struct ConstantGenerator: RandomNumberGenerator {
    let value: UInt64

    func next() -> UInt64 { value }
}

/// The generator SplitMix64.
private struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
