import HealthStore
package import HealthModel
package import ClarityScheduler
import Platform
import Synchronization

/// A file that waits in a spool folder, as a source.
///
/// After the file is read, it is settled: when its good samples are in the outbox, it is moved
/// away. If this program ends before that, the file is read again, and its samples are already
/// known.
package final class SpoolSource: SampleSource {
    /// The folder, so that no state is stored: the file moves away, and its name may come again.
    package let place: SourcePlace
    private let fileName: String
    private let now: Instant
    private let outcome = Mutex<Reading?>(nil)

    package let name: String
    package let since: Instant?

    private struct Reading {
        var stamp: RegularFile.Stamp
        var outcome: SampleFile.Outcome
    }

    /// Creates a source for a file of a folder.
    init(folder: SourcePlace, folderName: String, fileName: String, now: Instant, since: Instant?) {
        place = folder
        self.fileName = fileName
        self.now = now
        self.since = since
        name = folderName
    }

    package var path: String { "\(place.path)/\(fileName)" }
    package var reader: String { "spool \(programVersion)" }

    package func read(
        progress: ProgressHandler?, _ each: (Sample, SampleNature) throws -> Void
    ) throws -> SourceReport {
        outcome.withLock { $0 = nil }
        let file = try SpoolFolder(place).open(fileName)
        var found: SampleFile.Outcome
        do {
            var reading = SampleFile(now: now, progress: progress)
            found = try reading.read(
                file, path: path, isList: SpoolFolder.isList(fileName), each)
        } catch let error as SourceError {
            guard case .tooLarge(_, let limit) = error else { throw error }
            found = SampleFile.Outcome()
            found.faults = [
                SampleFile.Fault(line: 1, what: "the file has more than \(limit >> 20) MiB")
            ]
            found.faultCount = 1
        }
        outcome.withLock { [found] in $0 = Reading(stamp: file.stamp, outcome: found) }
        return found.report
    }

    /// What happened to a file.
    package enum Fate {
        case done
        case rejected
        /// It was not read to its end, or the file at its path is no longer the one that was read.
        case waiting
    }

    /// Moves the file away if it was read, and forgets what was found. Call it when the outbox has
    /// the file's samples.
    package func settle() throws(SourceError) -> Fate {
        guard let reading = outcome.withLock({ $0.take() }) else { return .waiting }
        let faults = reading.outcome.faultCount == 0 ? nil : reading.outcome.reasons
        let isMoved = try SpoolFolder(place).settle(
            fileName, reading.stamp, faults: faults)
        guard isMoved else { return .waiting }
        return faults == nil ? .done : .rejected
    }

    /// Leaves the file where it is, and forgets what was found.
    package func leave() { outcome.withLock { $0 = nil } }
}

extension SampleFile.Outcome {
    /// The text of the file that explains a rejected one.
    var reasons: String {
        var lines = faults.map { "\($0.description.forReport)\n" }.joined()
        if faultCount > faults.count { lines += "and \(faultCount - faults.count) more\n" }
        return lines + "\(report.samples + report.folded) good samples were taken\n"
    }
}
