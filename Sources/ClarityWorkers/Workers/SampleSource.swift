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

    /// What names the source among those that days are merged from: a folder of files is one.
    var entry: String { get }
    /// On whose clock its days are; `nil` for one that has none.
    var dayZone: Zone? { get }
    /// Whether it is read for its report, although it has nothing new.
    var isReadAnew: Bool { get }

    /// Hands over each sample and gives the account of all records; throws on what `progress` and
    /// `each` throw.
    func read(
        progress: ((SourceProgress) throws -> Void)?,
        _ each: (Sample, SampleNature) throws -> Void
    ) throws -> SourceReport
}

extension SampleSource {
    var entry: String { path }
    var dayZone: Zone? { nil }
    var isReadAnew: Bool { false }
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
    /// The number tells readings by what they make of a file: a file is read again by another one.
    var reader: String { "apple-health-export 2 \(programVersion) \(rules.text)" }

    func read(
        progress: ((SourceProgress) throws -> Void)?,
        _ each: (Sample, SampleNature) throws -> Void
    ) throws -> SourceReport {
        try AppleHealthExport(path: path, now: now, rules: rules).read(progress: progress, each)
    }
}
