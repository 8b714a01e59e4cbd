import ClarityScheduler
import Testing

struct StableDelayTests {
    private static func job(_ id: String) throws -> JobID { try #require(JobID(id)) }

    /// Another program computed these hashes from the published constants.
    @Test(
        arguments: [
            ([], 0xEFD0_1F60_BA99_2926), ([""], 0x1BBD_5C81_3C69_A8D7),
            (["a"], 0x3AEC_69D2_86FB_D39B),
            (["ab", "c"], 0x04F3_60E5_0AE8_8219), (["a", "bc"], 0x0B1A_B3F8_DB79_4B96),
        ] as [([String], UInt64)])
    func `a hash is the same for ever`(texts: [String], value: UInt64) {
        var hash = StableHash()
        for text in texts { hash.combine(text) }

        #expect(hash.value == value)
    }

    @Test(arguments: [
        ("ada", "com.clarity.refresh", 3_600_000, 1_740_281),
        ("ada", "com.clarity.cleanup", 3_600_000, 3_529_751),
        ("bob", "com.clarity.refresh", 3_600_000, 212_887),
        ("ada", "com.clarity.refresh", 86_400_000, 41_766_755), ("", "a", 1000, 458),
    ])
    func `a delay is the same for ever`(
        host: String, job: String, span: Int64, milliseconds: Int64
    ) throws {
        let delay = try stableDelay(
            within: .milliseconds(span), host: host, job: StableDelayTests.job(job))

        #expect(delay == .milliseconds(milliseconds))
    }

    @Test func `no span leaves no delay`() throws {
        #expect(
            try stableDelay(within: .zero, host: "ada", job: StableDelayTests.job("a")) == .zero)
    }

    @Test func `the hosts of a fleet are spread evenly over the span`() throws {
        let job = try StableDelayTests.job("com.clarity.refresh")
        var minutes = [Int](repeating: 0, count: 60)

        for host in 0..<12_000 {
            let delay = stableDelay(within: .seconds(3600), host: "host-\(host)", job: job)
            minutes[Int(delay / .seconds(60))] += 1
        }

        // The test expects 200 jobs in each minute; the standard deviation is 14.
        #expect(minutes.allSatisfy { (130...270).contains($0) }, "\(minutes)")
    }

    @Test func `the jobs of one host are spread evenly over the span`() throws {
        var minutes = [Int](repeating: 0, count: 60)

        for number in 0..<12_000 {
            let job = try StableDelayTests.job("job-\(number)")
            minutes[
                Int(stableDelay(within: .seconds(3600), host: "ada", job: job) / .seconds(60))] +=
                1
        }

        #expect(minutes.allSatisfy { (130...270).contains($0) }, "\(minutes)")
    }

    /// A machine that restarts every few minutes never runs for as long as the delay.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a machine that starts every few minutes has each occurrence due once`(seed: UInt64) throws
    {
        let start = try Instant("2026-11-20T00:00:00Z")
        let end = start + .seconds(28 * 86_400)
        let job = try StableDelayTests.job("job-\(seed)")
        let rules: [Schedule.Rule] = [
            .cron(try CronExpression("30 3 * * *"), .utc), .every(.seconds(4 * 3600), phase: nil),
        ]
        var random = SeededGenerator(seed: seed)

        for rule in rules {
            var seen: [Instant] = []
            var considered = start
            var now = start
            while now < end {
                // Each start reads the job file again and draws no random number.
                let delay = stableDelay(within: .seconds(3 * 3600), host: "ada", job: job)
                let schedule = Schedule(rule, delay: delay)
                if let due = schedule.due(after: considered, through: now, anchor: start) {
                    #expect(due.count == 1)
                    seen.append(due.latest)
                    considered = due.latest
                }
                now = now + .seconds(Int64.random(in: 60...600, using: &random))
            }

            let delay = stableDelay(within: .seconds(3 * 3600), host: "ada", job: job)
            let named = Schedule(rule).latest(
                1000, after: start - delay, through: now - delay, anchor: start)
            #expect(seen.count >= 27, "seed \(seed)")
            #expect(seen == named.map { $0 + delay }.prefix(seen.count).map(\.self))
            #expect(named.count - seen.count <= 1)
        }
    }
}
