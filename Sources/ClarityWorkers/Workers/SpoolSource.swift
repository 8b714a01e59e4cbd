import ClarityJobs
import ClarityScheduler
import ClaritySystem
import Synchronization

/// A file that waits in a spool folder, as a source.
///
/// After the file is read, it is settled: when its good samples are in the outbox, it is moved
/// away. If this program ends before that, the file is read again, and its samples are already
/// known.
final class SpoolSource: SampleSource {
    private let folder: String
    private let fileName: String
    private let now: Instant
    private let outcome = Mutex<Reading?>(nil)

    let name: String
    let since: Instant?

    private struct Reading {
        var stamp: RegularFile.Stamp
        var outcome: SampleFile.Outcome
    }

    /// Creates a source for a file of a folder.
    init(folder: String, folderName: String, fileName: String, now: Instant, since: Instant?) {
        self.folder = folder
        self.fileName = fileName
        self.now = now
        self.since = since
        name = folderName
    }

    var path: String { "\(folder)/\(fileName)" }
    /// The folder, so that no state is stored: the file moves away, and its name may come again.
    var file: String { folder }
    var reader: String { "spool \(programVersion)" }

    func read(
        progress: ((SourceProgress) throws -> Void)?,
        _ each: (Sample, SampleNature) throws -> Void
    ) throws -> SourceReport {
        outcome.withLock { $0 = nil }
        let file = try SpoolFolder(path: folder).open(fileName)
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
    enum Fate {
        case done
        case rejected
        /// It was not read to its end, or the file at its path is no longer the one that was read.
        case waiting
    }

    /// Moves the file away if it was read, and forgets what was found. Call it when the outbox has
    /// the file's samples.
    func settle() throws(SourceError) -> Fate {
        guard let reading = outcome.withLock({ $0.take() }) else { return .waiting }
        let faults = reading.outcome.faultCount == 0 ? nil : reading.outcome.reasons
        let isMoved = try SpoolFolder(path: folder).settle(
            fileName, reading.stamp, faults: faults)
        guard isMoved else { return .waiting }
        return faults == nil ? .done : .rejected
    }

    /// Leaves the file where it is, and forgets what was found.
    func leave() { outcome.withLock { $0 = nil } }
}

extension SampleFile.Outcome {
    /// The text of the file that explains a rejected one.
    var reasons: String {
        var lines = faults.map { "\($0.description.forReport)\n" }.joined()
        if faultCount > faults.count { lines += "and \(faultCount - faults.count) more\n" }
        return lines + "\(report.samples + report.folded) good samples were taken\n"
    }
}

/// Moves away the files that were read from spool folders, and notes those with bad samples.
struct SpoolSettling {
    private let context: WorkContext
    private var counts: WorkCounts?
    private var rejected: [String: Int] = [:]

    init(_ context: WorkContext) { self.context = context }

    /// Settles a file whose samples are in the outbox; a dry run leaves it where it is.
    mutating func settle(_ file: SpoolSource) -> Failure? {
        guard !context.isRehearsal else {
            file.leave()
            return nil
        }
        var counts = counts ?? WorkCounts(context)
        defer { self.counts = counts }
        do throws(SourceError) {
            switch try file.settle() {
            case .done: counts.add(1, to: "files_done")
            case .rejected:
                counts.add(1, to: "files_rejected")
                rejected[file.name, default: 0] += 1
            case .waiting: break
            }
            return nil
        } catch {
            return error.failure
        }
    }

    /// Notes how many files of each folder have bad samples.
    func note() {
        for (folder, count) in rejected.sorted(by: { $0.key < $1.key }) {
            context.note(
                "`\(folder)`: \(count) \(count == 1 ? "file has" : "files have") bad samples; "
                    + "see `\(SpoolFolder.rejectedName)` in it")
        }
    }
}
