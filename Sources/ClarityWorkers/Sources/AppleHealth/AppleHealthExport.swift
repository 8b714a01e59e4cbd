public import ClarityJobs
public import ClarityScheduler

/// An Apple Health export: the zip archive that the phone makes, the folder in it, or its xml file.
///
/// It is read as a stream, in constant memory (about 1 MiB, with the longest tag and some 15 MB for
/// 65,536 blood pressures on top), and nothing is written to disk. Blood pressures come last, since
/// their halves stand apart in the text; all else comes in the order of the text, which may hold
/// the same sample more than once.
public struct AppleHealthExport: Sendable {
    private let path: String
    private let now: Instant

    /// Names an export; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - path: The file or folder.
    ///   - now: The instant after which no sample can have begun.
    public init(path: String, now: Instant) {
        self.path = path
        self.now = now
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
        progress: ((SourceProgress) throws -> Void)? = nil, _ each: (Sample) throws -> Void
    ) throws -> SourceReport {
        var reading = ExportReading(
            source: try ExportSource.open(path: path), mapper: RecordMapper(now: now),
            progress: progress)
        return try reading.run(each)
    }
}
