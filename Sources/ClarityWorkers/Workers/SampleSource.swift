import ClarityJobs
import ClarityScheduler
import ClaritySystem

/// A place that samples come from.
protocol SampleSource: Sendable {
    /// The source's name for people.
    var name: String { get }
    /// Where it is, as the job file or a person names it.
    var path: String { get }
    /// The file whose state decides whether reading again finds anything new: `path` itself, or what
    /// is read of a folder.
    var file: String { get }
    /// What reads the file, with its version: another one may find something else in it.
    var reader: String { get }
    /// The instant before which no sample that is wanted began; `nil`: all are wanted.
    var since: Instant? { get }

    /// Hands over each sample and gives the account of all records; throws on what `progress` and
    /// `each` throw.
    func read(
        progress: ((SourceProgress) throws -> Void)?,
        _ each: (Sample, SampleNature) throws -> Void
    ) throws -> SourceReport
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
    var reader: String { "apple-health-export \(programVersion) \(rules.text)" }

    func read(
        progress: ((SourceProgress) throws -> Void)?,
        _ each: (Sample, SampleNature) throws -> Void
    ) throws -> SourceReport {
        try AppleHealthExport(path: path, now: now, rules: rules).read(progress: progress, each)
    }
}
