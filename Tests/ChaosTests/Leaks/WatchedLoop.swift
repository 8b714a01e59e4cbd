import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport

/// A running `loop` whose vitals are looked at whenever so many runs have ended.
final class WatchedLoop {
    let program: ChildProgram
    private let playground: Playground
    private let interval: Int
    /// How many runs have ended.
    private(set) var runs = 0
    private(set) var samples: [(runs: Int, vitals: Vitals)] = []
    /// The lines that tell of something else than a success, without what was done on purpose.
    private(set) var faults: [String] = []
    /// The line that told of the last run.
    private(set) var lastLine = ""

    /// Starts the loop; `interval` is the number of runs from one look to the next.
    init(_ playground: Playground, every interval: Int) throws {
        self.playground = playground
        self.interval = interval
        // Of one arena: each thread has one otherwise, up to sixteen, which fill up one after the
        // other for hours, and what is lost cannot be told from that (mallopt(3)).
        program = try playground.start(["loop"], environment: ["MALLOC_ARENA_MAX": "1"])
    }

    /// Returns when one more run has ended, of which a line of the loop tells; `false` when the loop
    /// itself has.
    func next() async throws -> Bool {
        while let line = await program.readErrorLine() {
            guard !line.hasPrefix("clarity-jobs: "), !line.hasPrefix("  ") else { continue }
            if !line.contains(": succeeded") { faults.append(line) }
            runs += 1
            lastLine = line
            if runs % interval == 0 { try look() }
            return true
        }
        return false
    }

    /// Looks at the loop now.
    func look() throws {
        samples.append(
            (runs, try Vitals(of: program.processID, statePath: playground.statePath)))
    }

    /// Drains the loop and returns how it ended.
    func end() async -> ProgramResult {
        program.signal(SIGTERM)
        return await program.finish()
    }

    /// One line a sample, for whoever wants to see the curve.
    var curve: String {
        samples.map { sample in
            let vitals = sample.vitals
            return """
                \(sample.runs) runs: \(vitals.memoryKiB) KiB, \(vitals.descriptors) descriptors, \
                \(vitals.threads) threads, \(vitals.logBytes) + \(vitals.fileBytes) bytes, \
                \(vitals.files) files
                """
        }.joined(separator: "\n")
    }
}
