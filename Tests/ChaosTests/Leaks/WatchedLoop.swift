import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport

/// A running `loop` that is measured after every `interval` runs.
final class WatchedLoop {
    let program: ChildProgram
    private let playground: Playground
    private let interval: Int
    /// The number of runs that have ended.
    private(set) var runs = 0
    private(set) var samples: [(runs: Int, vitals: Vitals)] = []
    /// The lines about runs that did not succeed.
    private(set) var faults: [String] = []
    /// The line about the last run.
    private(set) var lastLine = ""

    /// Starts the loop. `interval` is the number of runs between two measurements.
    init(_ playground: Playground, every interval: Int) throws {
        self.playground = playground
        self.interval = interval
        // One arena for all threads. Otherwise each thread has its own, up to sixteen, which fill
        // up one after the other for hours and hide a leak (mallopt(3)).
        program = try playground.start(["loop"], environment: ["MALLOC_ARENA_MAX": "1"])
    }

    /// Waits for the loop's line about one more run. Returns `false` if the loop has ended.
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

    /// Measures the loop now.
    func look() throws {
        samples.append(
            (runs, try Vitals(of: program.processID, statePath: playground.statePath)))
    }

    /// Drains the loop and returns how it ended.
    func end() async -> ProgramResult {
        program.signal(SIGTERM)
        return await program.finish()
    }

    /// One line for each sample, for people who want to see the curve.
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
