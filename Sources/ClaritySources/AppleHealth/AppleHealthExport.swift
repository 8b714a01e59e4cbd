public import ClarityJobs
public import ClarityScheduler

/// An Apple Health export: the zip archive that the phone makes, the folder in it, or its xml file.
///
/// The export is read as a stream, and nothing is written to disk. Memory is bounded: about 1 MiB,
/// plus the longest tag, some 15 MB for 65,536 blood pressures and some 15 MB for ten years of days
/// and nights. Measurements come in the order of the text, which may hold the same sample more than
/// once. Blood pressures, days and nights come last, because their parts are spread over the text.
public struct AppleHealthExport: Sendable {
    private let path: String
    private let now: Instant
    private let rules: FoldingRules

    /// Creates a reader of an export; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - path: The file or folder.
    ///   - now: The instant after which no sample can have begun.
    ///   - rules: How days and nights are made.
    public init(path: String, now: Instant, rules: FoldingRules = FoldingRules()) {
        self.path = path
        self.now = now
        self.rules = rules
    }

    /// Returns the file that is read for the export at `path`: the one in the folder there,
    /// otherwise `path` itself, whatever it is.
    public static func file(at path: String) -> String {
        do throws(SourceError) { return try ExportSource.file(at: path) } catch { return path }
    }

    /// Passes each sample to `each` and returns the report of all records.
    ///
    /// A source that breaks off (a truncated archive, a wrong checksum) is not an error: everything
    /// read before counts, and `SourceReport.brokeAt` says where it broke off.
    ///
    /// - Parameters:
    ///   - progress: Called after each piece of 256 KiB or less.
    ///   - each: Called for each sample.
    /// - Throws: `SourceError` if there is nothing to read; the errors of `progress` and `each`,
    ///   which stop the reading.
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
