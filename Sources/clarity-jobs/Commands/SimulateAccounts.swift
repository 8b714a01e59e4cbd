import ClarityHost
import ClarityScheduler
import Platform
@preconcurrency import Glibc
import SwiftOverlayShims

// `simulate --accounts N`: what so many accounts come to on this machine.
extension SimulateCommand {
    /// Simulates invented accounts with the planner and a store of its own, which it removes.
    func runAccounts() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        guard arguments.operands.isEmpty, arguments["trace"] == nil, arguments["account"] == nil
        else {
            throw CommandFailure(
                .usage, "--accounts goes with no JOB, no --trace and no --account")
        }
        let text = arguments["accounts"] ?? ""
        guard let count = Int(text), (1...100_000).contains(count) else {
            throw CommandFailure(
                .usage, "--accounts is a number from 1 to 100000, got `\(text)`")
        }
        let (days, attempt) = (try days(), try attempt())
        let file = try composition.wholeJobFile()
        guard file.accounts != nil else {
            throw CommandFailure(.usage, "--accounts needs a job file with `accounts`")
        }
        let from = try composition.time("from") ?? composition.clock.now
        let maxParallel = file.mostAttempts
        let simulation = Simulation(
            JobSet(file.invented(count)), maxParallel: maxParallel,
            over: from..<from + .seconds(days * 86_400), conditions: .allowing,
            attempt: { attempt ?? SimulateCommand.standardAttempt(of: $0) },
            retention: file.retention)
        let start = processorTime()
        let (totals, bytes) = try withScratchStore { store throws(RunStoreError) in
            try simulation.totals(on: store, owner: store.leaseLock.owner)
        }
        let report = SimulatedAccounts(
            totals: totals, maxParallel: maxParallel, historyBytes: bytes,
            processorTime: processorTime() - start)
        composition.console.results(report.lines, report)
        return .done
    }

    /// Runs `body` with an empty store, and returns its result and the size of its history.
    private func withScratchStore<Result>(
        _ body: (SQLiteRunStore) throws(RunStoreError) -> Result
    ) throws(CommandFailure) -> (Result, bytes: Int64) {
        var template = Array(
            "\(composition.environment["TMPDIR"] ?? "/tmp")/clarity-jobs-simulation.XXXXXX"
                .utf8CString)
        guard mkdtemp(&template) != nil else {
            let problem = SystemError().reason
            throw CommandFailure(.disk, "cannot make a temporary folder: \(problem)")
        }
        let folder = String(
            decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let result: (Result, bytes: Int64)
        do {
            result = try askingStore { () throws(RunStoreError) in
                try SimulateCommand.run(body, in: folder)
            }
        } catch {
            // The first fault is told; what it left lies in a folder for temporary files.
            try? DurableFile.removeFolder(folder)
            throw error
        }
        do throws(BackupError) {
            try DurableFile.removeFolder(folder)
        } catch {
            throw CommandFailure(.disk, error.description)
        }
        return result
    }

    private static func run<Result>(
        _ body: (SQLiteRunStore) throws(RunStoreError) -> Result, in folder: String
    ) throws(RunStoreError) -> (Result, bytes: Int64) {
        let directory: StateDirectory
        do throws(StateDirectoryError) {
            directory = try StateDirectory(path: folder)
        } catch {
            throw RunStoreError.unreachable(error.description)
        }
        let store = try SQLiteRunStore(
            in: directory, uniqueNumber: .random(in: .min ... .max), isDurable: false)
        let result = try body(store)
        store.tidy()
        var status = stat()
        stat("\(folder)/history.db", &status)
        return (result, Int64(status.st_size))
    }

    private func processorTime() -> Duration {
        // In microseconds, by POSIX.
        .milliseconds(Int64(clock()) / 1000)
    }
}
