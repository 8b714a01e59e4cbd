import ClarityScheduler
import ClarityTestSupport
@preconcurrency import Glibc

/// The extent of the faults in this run and the seed of its draws.
///
/// `make test` injects a part of the faults, and `make chaos` (`CLARITY_CHAOS=whole`) injects all
/// of them. The seed is `CLARITY_CHAOS_SEED`, or else the number of the day: all runs of one day
/// inject the same faults. Each folder beside this file is a part and has both sizes
/// (`docs/reliability.md`).
struct ChaosPlan {
    static let current = ChaosPlan()

    let seed: UInt64
    let isWhole: Bool
    private let seconds: Int?

    private init() {
        func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        seed = variable("CLARITY_CHAOS_SEED").flatMap { UInt64($0) } ?? UInt64(time(nil) / 86400)
        isWhole = variable("CLARITY_CHAOS") == "whole"
        seconds = variable("CLARITY_CHAOS_SECONDS").flatMap { Int($0) }
        print(
            "chaos: seed \(seed), \(isWhole ? "the whole" : "a slice"); again: CLARITY_CHAOS_SEED=\(seed)"
        )
    }

    /// Returns one of the two sizes, depending on `isWhole`.
    func size(slice: Int, whole: Int) -> Int { isWhole ? whole : slice }

    /// Returns how long a part goes on that ends by time: `CLARITY_CHAOS_SECONDS`, or else one of the
    /// two numbers of seconds.
    func span(slice: Int, whole: Int) -> Duration {
        .seconds(seconds ?? size(slice: slice, whole: whole))
    }

    /// Returns the generator of one part. Its draws do not depend on those of other parts.
    func generator(_ part: String) -> SeededGenerator {
        // FNV-1a, because the hash of a `String` differs in each process.
        let mark = part.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        return SeededGenerator(seed: seed ^ mark)
    }
}

/// The result of one part of the chaos tests, as a line that `scripts/chaos` adds up:
/// `chaos: part=kill seed=7 rounds=1000 lost=0 doubled=0 stuck=0 crashes=0 worker=480 scheduler=470`.
/// A measure that the part does not check is `-`, never 0.
struct ChaosLine: CustomStringConvertible {
    enum Measure: String, CaseIterable, Sendable { case lost, doubled, stuck, crashes }

    let part: String
    private let measures: [Measure]
    var rounds = 0
    /// How often each kind of fault struck, by name. A name has only letters, digits and hyphens.
    var faults: [String: Int] = [:]
    /// The number of samples that are neither at the backend nor in the outbox.
    var lost = 0
    /// The number of samples that the backend stores more than once and the outbox does not report.
    var doubled = 0
    /// The number of runs, leases and processes that would never end.
    var stuck = 0
    /// The number of processes that ended by a signal that no test sent, and of attempts that
    /// failed through a fault of their own.
    var crashes = 0

    init(_ part: String, measures: [Measure] = Measure.allCases) {
        (self.part, self.measures) = (part, measures)
    }

    var description: String {
        let counts = Measure.allCases.map { measure in
            " \(measure.rawValue)=\(measures.contains(measure) ? "\(count(measure))" : "-")"
        }
        let struck = faults.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
        return "chaos: part=\(part) seed=\(ChaosPlan.current.seed) rounds=\(rounds)"
            + (counts + struck).joined()
    }

    private func count(_ measure: Measure) -> Int {
        switch measure {
        case .lost: lost
        case .doubled: doubled
        case .stuck: stuck
        case .crashes: crashes
        }
    }

    /// Prints the line in one call, so that the output of other tests does not split it.
    func tell() { fputs("\(self)\n", stdout) }
}
