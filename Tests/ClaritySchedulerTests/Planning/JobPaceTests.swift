import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("How long an attempt runs beside how long it usually takes")
struct JobPaceTests {
    private func pace(_ seconds: [Int64], expected: Duration? = nil) -> JobPace {
        JobPace(since: .noon, lastSuccesses: seconds.map { .seconds($0) }, expected: expected)
    }

    @Test func `an attempt is slow a minute past three times what 95 of 100 take`() {
        // Of 20 the 19th: one outlier does not count.
        let pace = pace((1...19).map { $0 * 10 } + [9000])

        #expect(pace.usual == .seconds(100))
        #expect(pace.slowAfter == .seconds(3 * 190 + 60))
        #expect(!pace.isSlow(at: .noon + .seconds(630)))
        #expect(pace.isSlow(at: .noon + .seconds(630) + .milliseconds(1)))
    }

    @Test(arguments: [0, 4]) func `fewer than five successes say nothing`(count: Int) {
        let pace = pace([Int64](repeating: 1, count: count))

        #expect(pace.usual == nil && pace.slowAfter == nil)
        #expect(!pace.isSlow(at: .noon + .seconds(86_400)))
    }

    @Test func `five successes are enough, and quick ones leave a minute`() {
        let pace = pace([3, 1, 2, 5, 4])

        #expect(pace.usual == .seconds(3))
        #expect(pace.slowAfter == .seconds(3 * 5 + 60))
    }

    @Test(arguments: [[], [1000, 1000, 1000, 1000, 1000]])
    func `what the job file expects counts in place of what is usual`(seconds: [Int64]) {
        let pace = pace(seconds, expected: .seconds(60))

        #expect(pace.slowAfter == .seconds(60))
        #expect(pace.usual == (seconds.isEmpty ? nil : .seconds(1000)))
    }
}
