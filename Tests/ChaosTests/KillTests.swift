import ClarityTestSupport
import Glibc
import Testing

/// Kills at random points of the upload.
///
/// `CLARITY_KILL_ROUNDS` (2) is the number of kills for each victim, `CLARITY_KILL_SEED` (1) where
/// the draws begin; `scripts/kill-rounds` runs many and makes a table of them.
@Suite("A kill at any instant loses nothing and doubles nothing", .timeLimit(.minutes(15)))
struct KillTests {
    @Test(arguments: KillRound.Victim.allCases)
    func `whoever is killed, the next run completes the upload`(victim: KillRound.Victim)
        async throws
    {
        let first = KillTests.number("CLARITY_KILL_SEED") ?? 1
        let rounds = KillTests.number("CLARITY_KILL_ROUNDS") ?? 2

        for seed in first..<first + rounds {
            let report = try await KillRound(victim, seed: seed).run()
            print("kill: \(report)")

            let comment: Comment = "\(report): \(report.words)"
            #expect(report.rescue == 0, comment)
            #expect(report.disturbed == (victim == .worker || !report.hit ? 0 : 137), comment)
            #expect(report.metrics == report.samples, comment)
            #expect(report.distinct == report.samples, comment)
            #expect(report.unsent == 0, comment)
            #expect(report.stuck == 0, comment)
            #expect(report.damage == [], comment)
        }
    }

    /// A number from the environment.
    private static func number(_ name: String) -> UInt64? {
        getenv(name).flatMap { UInt64(String(cString: $0)) }
    }
}
