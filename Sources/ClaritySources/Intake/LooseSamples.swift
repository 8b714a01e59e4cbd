import ClarityJobs
import ClarityScheduler
import ClaritySystem
import Synchronization

/// A file of samples that a person names. It stays where it is.
final class LooseSamples: SampleSource {
    let path: String
    let since: Instant?
    private let now: Instant
    private let outcome = Mutex<SampleFile.Outcome?>(nil)

    init(path: String, now: Instant, since: Instant?) {
        self.path = path
        self.now = now
        self.since = since
    }

    var file: String { path }
    var name: String { SourceEntry.name(of: path) }
    var reader: String { "samples \(programVersion)" }

    /// The outcome of the last reading.
    var faults: SampleFile.Outcome? { outcome.withLock { $0 } }

    func read(
        progress: ((SourceProgress) throws -> Void)?,
        _ each: (Sample, SampleNature) throws -> Void
    ) throws -> SourceReport {
        guard try !OpenFile(path: path).isFolder else { throw SourceError.notOneFile(path: path) }
        let file = try RegularFile(path: path)
        var reading = SampleFile(now: now, progress: progress)
        let found = try reading.read(
            file, path: path, isList: try isList(path), each)
        outcome.withLock { $0 = found }
        return found.report
    }

    /// Whether the file is a list: by its name or, if the name does not say, by its first
    /// character.
    private func isList(_ path: String) throws(SourceError) -> Bool {
        if SpoolFolder.takes(name) { return SpoolFolder.isList(name) }
        var head = [UInt8](repeating: 0, count: SourceSignature.length)
        let count = try RegularFile(path: path).read(into: &head)
        return head[..<count].first { $0 > 0x20 } == UInt8(ascii: "[")
    }
}
