package import ClarityJobs
package import ClarityScheduler
import ClaritySystem
import Synchronization

/// A source of samples.
package protocol SampleSource: Sendable {
    /// The source's name for people.
    var name: String { get }
    /// The path, as the job file or a person names it.
    var path: String { get }
    /// The file whose state decides whether reading again finds anything new: `path` itself, or the
    /// file that is read inside a folder.
    var file: String { get }
    /// The reader's name and version: another reader may find something else in the file.
    var reader: String { get }
    /// The earliest start of a wanted sample; `nil` means any.
    var since: Instant? { get }

    /// The name of the source when days are merged: all files of a folder have the same one.
    var entry: String { get }
    /// The time zone of its days; `nil` for a source without days.
    var dayZone: Zone? { get }
    /// Whether the source is read for its report even if it has nothing new.
    var isReadAnew: Bool { get }

    /// Passes on each sample and returns the report of all records; throws the errors of `progress`
    /// and `each`.
    func read(
        progress: ((SourceProgress) throws -> Void)?,
        _ each: (Sample, SampleNature) throws -> Void
    ) throws -> SourceReport
}

extension SampleSource {
    package var entry: String { path }
    package var dayZone: Zone? { nil }
    package var isReadAnew: Bool { false }
}

/// An Apple Health export as a source.
struct AppleHealthFile: SampleSource {
    let path: String
    let now: Instant
    var since: Instant?
    var rules = FoldingRules()

    var file: String { AppleHealthExport.file(at: path) }
    var name: String {
        String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...])
    }
    var dayZone: Zone? { rules.zone }
    /// The number changes when the reader makes something else of a file, so that files are read
    /// again.
    var reader: String { "apple-health-export 2 \(programVersion) \(rules.text)" }

    func read(
        progress: ((SourceProgress) throws -> Void)?,
        _ each: (Sample, SampleNature) throws -> Void
    ) throws -> SourceReport {
        try AppleHealthExport(path: path, now: now, rules: rules).read(progress: progress, each)
    }
}

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
