import ClarityScheduler
import ClarityTestSupport
@preconcurrency import Glibc

/// How much is broken in this run, and where the draws begin.
///
/// `make test` breaks a slice of what there is to break and `make chaos` the whole
/// (`CLARITY_CHAOS=whole`). The seed is `CLARITY_CHAOS_SEED`, else the number of the day: on one day
/// everybody breaks the same, and tomorrow something else.
struct ChaosPlan {
    static let current = ChaosPlan()

    let seed: UInt64
    let isWhole: Bool

    private init() {
        func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        seed = variable("CLARITY_CHAOS_SEED").flatMap { UInt64($0) } ?? UInt64(time(nil) / 86400)
        isWhole = variable("CLARITY_CHAOS") == "whole"
        print(
            "chaos: seed \(seed), \(isWhole ? "the whole" : "a slice"); again: CLARITY_CHAOS_SEED=\(seed)"
        )
    }

    /// One of the two sizes.
    func size(slice: Int, whole: Int) -> Int { isWhole ? whole : slice }

    /// The draws of one part, which do not depend on those of another.
    func generator(_ part: String) -> SeededGenerator {
        // FNV-1a, since the hash of a `String` is another in each process.
        let mark = part.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        return SeededGenerator(seed: seed ^ mark)
    }
}

/// What a part of the chaos came to, as a line that `scripts/chaos` adds up:
/// `chaos: part=kill seed=7 rounds=1000 lost=0 doubled=0 stuck=0 crashes=0 worker=480 scheduler=470`.
/// What a part does not look at is told as `-`, never as 0.
struct ChaosLine: CustomStringConvertible {
    enum Measure: String, CaseIterable, Sendable { case lost, doubled, stuck, crashes }

    let part: String
    private let measures: [Measure]
    var rounds = 0
    /// How often each kind of fault really struck, by its name: letters, digits and hyphens.
    var faults: [String: Int] = [:]
    /// Samples that neither the backend has nor the outbox still keeps.
    var lost = 0
    /// Samples that the backend has more often than once without the outbox saying so.
    var doubled = 0
    /// Runs, leases and processes that would never come to an end.
    var stuck = 0
    /// Processes that ended by a signal that nobody sent, and attempts that broke by themselves.
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

    /// Prints the line, whole, beside what other tests print at the same time.
    func tell() { fputs("\(self)\n", stdout) }
}
