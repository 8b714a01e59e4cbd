public import ClarityJobs
public import ClarityScheduler

/// An Apple Health export: the zip archive that the phone makes, the folder in it, or its xml file.
///
/// It is read as a stream, in bounded memory (about 1 MiB, with the longest tag, some 15 MB for
/// 65,536 blood pressures and some 15 MB for ten years of days and nights on top), and nothing is
/// written to disk. Measurements come in the order of the text, which may hold the same sample more
/// than once; blood pressures, days and nights come last, since their parts stand apart in it.
public struct AppleHealthExport: Sendable {
    private let path: String
    private let now: Instant
    private let rules: FoldingRules

    /// Names an export; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - path: The file or folder.
    ///   - now: The instant after which no sample can have begun.
    ///   - rules: How its days and nights are made.
    public init(path: String, now: Instant, rules: FoldingRules = FoldingRules()) {
        self.path = path
        self.now = now
        self.rules = rules
    }

    /// The file that is read for the export at `path`: the one in the folder there, or `path` itself,
    /// whatever it is.
    public static func file(at path: String) -> String {
        do throws(SourceError) { return try ExportSource.file(at: path) } catch { return path }
    }

    /// Hands over each sample and gives the account of all records.
    ///
    /// A source that breaks off (a truncated archive, a wrong checksum) is no error: what was read
    /// before stands, and `SourceReport.brokeAt` says where it broke.
    ///
    /// - Parameters:
    ///   - progress: Told after each piece of 256 KiB or less.
    ///   - each: Called for each sample.
    /// - Throws: `SourceError` when there is nothing to read; what `progress` or `each` throws, which
    ///   stops the reading.
    public func read(
        progress: ((SourceProgress) throws -> Void)? = nil,
        _ each: (Sample, SampleNature) throws -> Void
    ) throws -> SourceReport {
        var reading = ExportReading(
            source: try ExportSource.open(path: path), mapper: RecordMapper(now: now, rules: rules),
            progress: progress)
        return try reading.run(each)
    }
}
