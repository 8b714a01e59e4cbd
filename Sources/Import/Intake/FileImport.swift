public import HealthStore
public import ClarityScheduler
import Platform

/// Imports a file, or a folder of files, into the outbox while a person waits.
public struct FileImport: Sendable {
    private let store: HealthStore
    private let clock: any WallClock
    private let settings: SourceSettings
    private let hasBackend: Bool
    private let isReport: Bool
    private let changesZone: Bool

    /// Creates an import of what the order names in `ImportOptions`.
    ///
    /// - Parameters:
    ///   - isReport: whether a report of the contents is wanted, so that an unchanged file is read
    ///     as well.
    ///   - changesZone: whether the days of the account follow the source's time zone from now on.
    public init(
        _ order: AttemptOrder, store: HealthStore, clock: any WallClock, zones: SourceZones,
        isReport: Bool = false, changesZone: Bool = false
    ) throws(Failure) {
        self.store = store
        self.clock = clock
        self.isReport = isReport
        self.changesZone = changesZone
        settings = try SourceSettings(order, zones: zones)
        hasBackend = try SectionValues(order.options).backend != nil
    }

    /// Reads everything; what could be read is in the outbox when this returns.
    ///
    /// - Parameter progress: called from time to time. An error that it throws ends the import;
    ///   what was committed before stays.
    /// - Throws: `SourceError`, `Failure`, `HealthStoreError`, and the errors of `progress`.
    public func run(
        progress: @escaping (ImportProgress) throws -> Void
    ) throws -> ImportAccount {
        guard let imported = settings.imported else {
            throw Failure(.configuration, "`import.path` is missing")
        }
        let path = PlainPath.of(imported.path)
        let kind = try imported.kind ?? SourceRecognition.kind(at: path)
        if !hasBackend { try store.sessions.beginWithoutLogin() }
        var settings = settings
        try settings.settleZone(store, isChange: changesZone)
        let entry = try settings.entry(imported.options(of: kind), "import")
        if let refusal = entry.refusal { throw refusal }
        let sources =
            kind == .spool
            ? [LooseSamples(path: path, now: clock.now, since: entry.since)]
            : entry.sources(now: clock.now)
        var account = ImportAccount(
            name: entry.name, kind: kind,
            timeZone: settings.zones.settled ?? entry.zone.identifier, hasBackend: hasBackend)
        account.files = sources.count
        let intake = SourceIntake(store: store, clock: clock)
        for (index, source) in sources.enumerated() {
            let tell: ProgressHandler = { found in
                try progress(
                    ImportProgress(file: index + 1, files: sources.count, found: found))
            }
            do {
                var result = try intake.read(source, progress: tell)
                if isReport, result.unchangedSince != nil {
                    result = try intake.read(source, isAnew: true, progress: tell)
                }
                account.add(result, (source as? LooseSamples)?.faults)
            } catch let error as SourceError where sources.count > 1 {
                // The other files of the folder are still read.
                account.unread += 1
                account.problem = account.problem ?? error.description
            }
        }
        if !hasBackend { try store.outbox.packKept(at: clock.now) }
        return account
    }
}

/// The progress of an import.
public struct ImportProgress: Hashable, Sendable {
    /// The number of the file that is being read, from 1, and the number of files.
    public var file: Int
    public var files: Int
    /// The progress within that file.
    public var found: SourceProgress
}

/// The result of an import.
public struct ImportAccount: Sendable {
    /// The last component of the given path.
    public let name: String
    let kind: SourceEntry.Kind
    /// The time zone that the days of the account follow.
    public let timeZone: String
    /// Whether the samples wait to be sent.
    let hasBackend: Bool
    public internal(set) var files = 0
    /// The number of files of a folder that could not be read.
    public internal(set) var unread = 0
    /// Why the first of these files could not be read.
    public internal(set) var problem: String?
    /// The combined report of all files.
    public internal(set) var report = SourceReport()
    /// What happened to the samples in the outbox.
    public internal(set) var enqueued = EnqueueCounts()
    /// The days, nights, sums and workouts that were refused, by reason.
    public internal(set) var madeRefused: [String: Int64] = [:]
    /// The number of files that were not read, because they are unchanged since the last time.
    public internal(set) var unchanged = 0
    /// When the last of these files was read.
    public internal(set) var unchangedSince: Instant?
    /// Whether one of these files has other bytes than when its records were read.
    var hasOtherBytes = false
    /// Descriptions of the first 100 bad samples, one a line.
    public internal(set) var faults: [String] = []
    /// The number of bad samples.
    public internal(set) var faultCount = 0

    mutating func add(_ result: IntakeResult, _ outcome: SampleFile.Outcome?) {
        if let readAt = result.unchangedSince {
            unchanged += 1
            unchangedSince = max(unchangedSince ?? readAt, readAt)
            hasOtherBytes = hasOtherBytes || result.same != nil
        }
        report.add(result.report)
        enqueued += result.enqueued
        madeRefused.merge(result.madeRefused, uniquingKeysWith: +)
        faults += (outcome?.faults ?? []).map { $0.description.forReport }
        faultCount += outcome?.faultCount ?? 0
    }
}

extension SourceReport {
    /// Adds the report of another file of the same source. The first break and the first offsets
    /// stay.
    mutating func add(_ other: SourceReport) {
        recordsRead += other.recordsRead
        nestedSkipped += other.nestedSkipped
        nestedTaken += other.nestedTaken
        pairedPartners += other.pairedPartners
        aggregated += other.aggregated
        repeated += other.repeated
        nightsWithoutSleep += other.nightsWithoutSleep
        bytesRead += other.bytesRead
        archived.pruned += other.archived.pruned
        samplesByKind.merge(other.samplesByKind, uniquingKeysWith: +)
        made.merge(other.made, uniquingKeysWith: +)
        unfinished.merge(other.unfinished, uniquingKeysWith: +)
        unmapped.merge(other.unmapped, uniquingKeysWith: +)
        refused.merge(other.refused, uniquingKeysWith: +)
        malformations.merge(other.malformations, uniquingKeysWith: +)
        bySource.merge(other.bySource, uniquingKeysWith: +)
        elements.merge(other.elements, uniquingKeysWith: +)
        elementsRefused.merge(other.elementsRefused, uniquingKeysWith: +)
        filesRefused.merge(other.filesRefused) { first, _ in first }
        attachments.merge(other.attachments, uniquingKeysWith: +)
        offsets.merge(other.offsets) { first, _ in first }
        brokeAt = brokeAt ?? other.brokeAt
    }
}
