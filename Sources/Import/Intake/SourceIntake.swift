package import HealthStore
import HealthModel
package import ClarityScheduler
import Platform
import Synchronization

/// The result of reading a source.
package struct IntakeResult: Sendable {
    /// The contents of the source; empty if it was not read.
    package var report = SourceReport()
    /// What happened to the samples in the outbox.
    package var enqueued = EnqueueCounts()
    /// When the source was read in exactly this state; `nil` if it was read now.
    package var unchangedSince: Instant?
    /// The earlier reading that found the same records, if this one only found out that.
    fileprivate(set) var same: LastReading?
    /// What tells this reading from another one; `nil` if the source has no such thing.
    fileprivate var digest: UInt128?
    /// The entry in the ledger; `nil` if the source was not read.
    var reading: Reading?
    /// The days and nights that were refused before they were queued, by reason.
    package var madeRefused: [String: Int64] = [:]
    /// Whether the next attempt reads the source again although it does not change: it broke off,
    /// or it has records that may be accepted later.
    package var isReadAgain = false

    /// The counts that the ledger gets in addition to those of the portions.
    var counts: ReadingCounts {
        var counts = ReadingCounts()
        counts[.read] = report.recordsRead + report.nestedTaken
        counts[.paired] = report.pairedPartners
        counts[.aggregated] = report.aggregated
        counts[.repeated] = report.repeated
        counts[.unmapped] = report.unmapped.values.reduce(0, +)
        counts[.refused] = report.refused.values.reduce(0, +)
        counts[.beforeSince] = enqueued.beforeSince
        // The report no longer includes the days and nights that were refused here.
        counts[.made] = report.made.values.reduce(0, +) + enqueued.metricsRefused
        counts[.madeRefused] = enqueued.metricsRefused
        counts[.madeBeforeSince] = enqueued.metricsBeforeSince
        return counts
    }

    var reasons: ReadingReasons {
        var reasons = ReadingReasons()
        reasons.unmapped = report.unmapped
        reasons.refused = report.refused
        reasons.madeRefused = madeRefused
        return reasons
    }
}

/// Samples that were refused before they were queued, although the source counted them as handed
/// over.
private struct IntakeRefusals {
    private(set) var aggregates: [String: Int64] = [:]
    private var measurements: [String: Int64] = [:]
    private var kinds: [SampleKind: Int64] = [:]
    private var kindsMade: [SampleKind: Int64] = [:]
    private var dueAt: Instant?

    mutating func count(_ refusal: IntakeCheck.Refusal, _ sample: Sample, _ nature: SampleNature) {
        let kind = sample.kind
        if refusal == .inFuture {
            let due = sample.start - IntakeCheck.skew
            dueAt = min(dueAt ?? due, due)
        }
        switch nature {
        case .measurement, .knownMeasurement:
            measurements[refusal.rawValue, default: 0] += 1
            kinds[kind, default: 0] += 1
        case .aggregate:
            aggregates[refusal.rawValue, default: 0] += 1
            kindsMade[kind, default: 0] += 1
        }
    }

    /// Counts days for which a phone has only totals of 0.
    mutating func count(zeroSummaries count: Int64) {
        guard count > 0 else { return }
        aggregates["a day's totals of zero", default: 0] += count
        kindsMade[.activity, default: 0] += count
    }

    /// Moves the refused samples to the right counts of the source's report.
    func settle(in report: inout SourceReport, _ counts: inout EnqueueCounts) {
        report.refused.merge(measurements, uniquingKeysWith: +)
        if let dueAt { report.note(due: dueAt) }
        for (kind, count) in kinds { report.samplesByKind[kind, default: 0] -= count }
        for (kind, count) in kindsMade { report.made[kind, default: 0] -= count }
        counts.metricsRefused += aggregates.values.reduce(0, +)
    }
}

/// Brings the contents of a source into the outbox, unless it is known to have nothing new. Jobs
/// and `import` both use it.
///
/// An Apple Health export takes up to five threads. `ReadAheadSource` uses one to read ahead. The
/// caller's thread finds the records (`ExportScanner`) and makes samples of them (`RecordMapper`).
/// `IntakeLine` has two threads, and the content mark has one.
///
/// Of an Apple Health export that comes after another one, the former months count as known: of
/// their records only fingerprints are made. If one of them turns out to have changed, the export is
/// read once more, and what has changed no longer counts as known. One of the size of an earlier
/// export is first looked through, because it may have nothing new at all: only the fingerprints of
/// its months are made then, on the caller's thread.
///
/// A file is read again only if both its stamp and its content have changed. The content is
/// unchanged if the size and the content mark are the same; to find that out, the file is not
/// searched for samples.
///
/// The mark of a file that is read is computed at the same time. If the stamp is not settled, the
/// mark is computed before, because neither would show a write between the two. The mark is then
/// stored with an unsettled stamp.
package struct SourceIntake: Sendable {
    private let store: HealthStore
    private let clock: any WallClock
    private let line: IntakeLine

    /// - Parameter portion: the number of samples that are written at once, for tests.
    package init(
        store: HealthStore, clock: any WallClock, portion: Int = Outbox.intakePortion
    ) {
        self.store = store
        self.clock = clock
        var line = IntakeLine(store)
        line.portion = portion
        self.line = line
    }

    /// Reads a source; what could be read is in the outbox when this returns.
    ///
    /// - Parameters:
    ///   - isAnew: whether it is read even if it has nothing new. Its state is neither looked up
    ///     nor stored then.
    ///   - progress: called on this thread from time to time; may throw to end the reading.
    /// - Throws: the errors of the source and of `progress`; `HealthStoreError`; `SystemError`.
    ///   What was committed before stays.
    package func read(
        _ source: any SampleSource, isAnew: Bool = false, progress: @escaping ProgressHandler
    ) throws -> IntakeResult {
        let reader = source.fullReader
        let stamp = isAnew ? nil : source.stamp(reader, at: clock.now)
        guard let stamp else {
            var result = try takeWhatIsNew(source, isAnew: isAnew, stamp, progress)
            try end(result)
            result.isReadAgain = true
            return result
        }
        let last = try store.outbox.lastReading(of: source.path)
        // Records that were in the future then may be accepted now, although the content is the
        // same.
        let isDue = last?.dueAt.map { $0 <= clock.now } ?? false
        if !isDue, stamp.isSettled, let readAt = try store.outbox.wasRead(source.path, stamp) {
            return IntakeResult(unchangedSince: readAt)
        }
        var result: IntakeResult
        let mark: ContentMark?
        // A file of another size has another content.
        if let last, let known = last.mark, last.bytes == stamp.bytes, last.reader == reader {
            mark = try self.mark(source.place, like: known, progress)
            if !isDue, mark == known, isStill(stamp, source) {
                try store.outbox.noteRead(source.path, stamp, last)
                return IntakeResult(unchangedSince: last.readAt)
            }
            result = try takeWhatIsNew(source, stamp, progress)
        } else if stamp.isSettled {
            (result, mark) = try markedBeside(source.place, like: last?.mark, progress) {
                try takeWhatIsNew(source, stamp, $0)
            }
        } else {
            mark = try self.mark(source.place, like: last?.mark, progress)
            result = try takeWhatIsNew(source, stamp, progress)
        }
        // If the stamp is not settled, only the mark can show a change.
        let isSure = (stamp.isSettled || mark != nil) && isStill(stamp, source)
        if var same = result.same {
            (same.bytes, same.mark) = (stamp.bytes, mark)
            if isSure { try store.outbox.noteRead(source.path, stamp, same) }
            result.isReadAgain = !isSure
        } else if result.isWhole, isSure {
            var reading = LastReading(
                readAt: clock.now, reader: reader, bytes: stamp.bytes, mark: mark,
                counts: result.report.noted, dueAt: result.report.dueAt)
            reading.digest = result.digest
            try end(result, noted: (source.path, stamp, reading))
        } else {
            try end(result)
            result.isReadAgain = true
        }
        return result
    }

    /// Reads a source, but for what an earlier reading by the same reader brought.
    ///
    /// If everything may be known, because an earlier source had the same size, it first looks
    /// through this one for that, which takes a fraction of the time: no sample is made, indexed or
    /// looked up. Otherwise the former months count as known by a guess.
    ///
    /// - Parameter stamp: the state of the file; `nil` if its size is not known.
    private func takeWhatIsNew(
        _ source: any SampleSource, isAnew: Bool = false, _ stamp: SourceStamp?,
        _ progress: @escaping ProgressHandler
    ) throws -> IntakeResult {
        guard let name = source.archiveName else { return try take(source, isAnew, progress) }
        let marks = try store.archive.marks(of: name)
        var known = KnownMonths(key: marks.key)
        guard !isAnew, marks.isCurrent(source.fullReader, at: clock.now) else {
            return try take(source.noting(known), isAnew, progress)
        }
        let isOfFormerSize =
            try store.outbox.lastReading(by: source.fullReader) { $0.bytes == stamp?.bytes } != nil
        guard isOfFormerSize else {
            known.months = marks.formerMonths(at: clock.now)
            return try take(source.noting(known), isAnew, guess: marks, progress)
        }
        if let found = try source.lookThrough(marks.key, progress: progress) {
            if let digest = found.digest,
                let same = try store.outbox.lastReading(
                    by: source.fullReader, where: { $0.digest == digest }),
                same.dueAt.map({ $0 > clock.now }) ?? true
            {
                return IntakeResult(unchangedSince: same.readAt, same: same)
            }
            known.months = found.months(like: marks.prints)
        }
        return try take(source.noting(known), isAnew, progress)
    }

    /// Closes the reading in the ledger.
    private func end(
        _ result: IntakeResult,
        noted: (path: String, stamp: SourceStamp, reading: LastReading)? = nil
    ) throws {
        guard let reading = result.reading else { return }
        try store.outbox.end(reading, result.counts, result.reasons, noted: noted)
    }

    /// - Parameter guess: the marks from which the source knows months, if these are only probably
    ///   known.
    private func take(
        _ source: any SampleSource, _ isAnew: Bool, guess: ArchiveMarks? = nil,
        _ progress: @escaping ProgressHandler
    ) throws -> IntakeResult {
        // All exports are one source, because each has the records of those before it. Any other
        // file that is written anew is another source.
        let version =
            source.archiveName == nil
            ? source.stamp(source.reader, at: clock.now) : nil
        let reading = try store.outbox.beginReading(
            of: source.archiveName ?? source.file, version)
        do {
            return try take(source, isAnew, guess, reading, progress)
        } catch {
            // The first error is the one that matters. The next reading closes what stays open.
            do { try store.outbox.interrupt(reading) } catch _ {}
            throw error
        }
    }

    private func take(
        _ source: any SampleSource, _ isAnew: Bool, _ guess: ArchiveMarks?, _ reading: Reading,
        _ progress: @escaping ProgressHandler
    ) throws -> IntakeResult {
        let now = clock.now
        var source = source.asking(store.outbox)
        var intake = try bring(source, guess, of: reading, at: now, progress)
        if let guess, let months = intake.known {
            let first = intake.counts
            // Its records would take as much memory again.
            intake.report = SourceReport()
            source = source.noting(KnownMonths(key: guess.key, months: months))
            intake = try bring(source, nil, of: reading, at: now, progress)
            let twice = intake.counts.countAsNew(first)
            _ = try store.outbox.count(known: -twice, of: reading)
        }
        var (report, counts, refusals) = (intake.report, intake.counts, intake.refusals)
        if let zone = source.dayZone {
            let merge = DayIntake(store: store, zone: zone, now: now)
            if let days = report.days {
                try merge.keep(
                    days, of: source.entry, since: source.since, isAnew: isAnew)
                refusals.count(zeroSummaries: days.zeroSummaries)
                if days.zeroSummaries > 0 {
                    report.made[.activity, default: 0] += days.zeroSummaries
                }
            }
            report.days?.parts = DayParts()
            counts += try merge.run(of: reading, &report) {
                refusals.count($0, $1, .aggregate(asOf: now))
            }
        }
        refusals.settle(in: &report, &counts)
        if let records = report.records {
            // A text that breaks off has not all records of a month.
            report.archived = try store.archive.keep(
                records, of: report.brokeAt == nil ? source.archiveName : nil,
                by: ArchiveMarks.Reader(name: source.fullReader, dueAt: report.dueAt),
                zone: source.dayZone)
        }
        let digest = report.records?.digest
        (report.days, report.records) = (nil, nil)
        if !report.stepMinutes.isEmpty { try store.analyses.keep(report.stepMinutes) }
        return IntakeResult(
            report: report, enqueued: counts, digest: digest, reading: reading,
            madeRefused: refusals.aggregates)
    }

    /// What a reading has found and put into the outbox.
    private struct Intake {
        var report: SourceReport
        var counts: EnqueueCounts
        var refusals: IntakeRefusals
        /// The months that are known, if the guess was wrong and the source has to be read again.
        var known: Set<TypeMonth>?
    }

    /// Returns the months that are known by the marks of an earlier reading, if not all of those are
    /// that counted as known.
    private static func known(
        in report: SourceReport, by marks: ArchiveMarks
    ) -> Set<TypeMonth>? {
        // What a text that breaks off has is kept without marks, and so without months that count as
        // known.
        guard let records = report.records, report.brokeAt == nil else { return [] }
        return records.isRight(about: marks.prints) ? nil : records.months(like: marks.prints)
    }

    /// Reads a source and puts its samples into the outbox.
    ///
    /// - Parameter guess: as for `take`. If it turns out to be wrong, the aggregates are left to the
    ///   next reading: several of one time replace each other, each time that they come.
    private func bring(
        _ source: any SampleSource, _ guess: ArchiveMarks?, of reading: Reading, at now: Instant,
        _ progress: @escaping ProgressHandler
    ) throws -> Intake {
        var before = EnqueueCounts()
        var known: Int64 = 0
        var refusals = IntakeRefusals()
        var aggregates: [(sample: Sample, nature: SampleNature)] = []
        var knownMonths: Set<TypeMonth>?
        var (report, counts) = try store.outbox.inBulk {
            try line.run(of: reading) { each in
                let report = try source.read(progress: progress) { sample, nature in
                    if let since = source.since, sample.start < since {
                        return before.count(nature)
                    }
                    let accepted: Sample
                    do throws(IntakeCheck.Refusal) {
                        accepted = try IntakeCheck.accepted(sample, at: now)
                    } catch {
                        return refusals.count(error, sample, nature)
                    }
                    switch nature {
                    case .knownMeasurement: known += 1
                    case .aggregate where guess != nil: aggregates.append((accepted, nature))
                    case .aggregate, .measurement: try each(accepted, nature)
                    }
                }
                knownMonths = guess.flatMap { SourceIntake.known(in: report, by: $0) }
                if knownMonths == nil {
                    for (sample, nature) in aggregates { try each(sample, nature) }
                }
                return report
            }
        }
        counts += before
        if known > 0 { counts += try store.outbox.count(known: known, of: reading) }
        return Intake(report: report, counts: counts, refusals: refusals, known: knownMonths)
    }

    /// Computes the file's mark on this thread.
    private func mark(
        _ place: SourcePlace, like other: ContentMark?, _ progress: ProgressHandler
    ) throws -> ContentMark? {
        guard let file = Marking.open(place) else { return nil }
        return try ContentMark(of: file.descriptor, like: other) {
            // Called only so that it can throw: nothing of the text has been read yet.
            try progress(SourceProgress(bytesRead: 0, bytesTotal: nil))
            return false
        }
    }

    /// Computes the file's mark on another thread during `read`, and calls `progress` while it
    /// waits for the mark.
    private func markedBeside(
        _ place: SourcePlace, like other: ContentMark?,
        _ progress: @escaping ProgressHandler,
        _ read: (_ progress: @escaping ProgressHandler) throws -> IntakeResult
    ) throws -> (IntakeResult, ContentMark?) {
        let marking = Marking()
        var last = SourceProgress(bytesRead: 0, bytesTotal: nil)
        let result = try withThreads(
            [{ marking.run(place, like: other) }], cancel: marking.stop
        ) {
            do {
                let result = try read {
                    last = $0
                    try progress($0)
                }
                while !marking.hasEnded(within: Marking.patience) { try progress(last) }
                return result
            } catch {
                marking.stop()
                throw error
            }
        }
        return (result, marking.found)
    }

    /// Deletes the source's file if all of it is in the outbox and the job file asks for that.
    ///
    /// What counts is the note that the transaction of the last portion wrote. So a file that was
    /// left because the process ended before this call is deleted by the next one. A file with
    /// something that a later reading takes, such as the day that is not over, stays.
    ///
    /// - Returns: whether the file was deleted.
    /// - Throws: `SourceError` if the system refuses; `HealthStoreError`.
    package func deleteIfDone(_ source: any SampleSource) throws -> Bool {
        guard source.isDeletedWhenRead,
            let stamp = source.stamp(source.fullReader, at: clock.now),
            try store.outbox.wasRead(source.path, stamp) != nil
                || store.outbox.wasRead(source.path, stamp.inDoubt) != nil,
            try store.outbox.lastReading(of: source.path)?.dueAt == nil
        else { return false }
        try source.place.remove()
        try store.outbox.forgetReading(of: source.path)
        return true
    }

    private func isStill(_ stamp: SourceStamp, _ source: any SampleSource) -> Bool {
        stamp.inDoubt == source.stamp(stamp.reader, at: clock.now)?.inDoubt
    }
}

/// The computation of a mark on another thread.
private final class Marking: Sendable {
    /// The longest single wait for the end, in milliseconds.
    static let patience: Int32 = 200

    private let mark = Mutex<ContentMark?>(nil)
    private let isStopped = Atomic(false)
    private let end = Latch()

    var found: ContentMark? { mark.withLock { $0 } }

    func run(_ place: SourcePlace, like other: ContentMark?) {
        let found = Marking.open(place).flatMap { file in
            ContentMark(of: file.descriptor, like: other) { isStopped.load(ordering: .relaxed) }
        }
        mark.withLock { $0 = found }
        end.open()
    }

    /// Returns the file at `place`; `nil` if it cannot be read, which the reading reports.
    static func open(_ place: SourcePlace) -> OpenFile? {
        do throws(SourceError) { return try OpenFile(place) } catch { return nil }
    }

    /// Waits for the end, but no longer than this; returns whether it has come.
    func hasEnded(within milliseconds: Int32) -> Bool { end.isOpen(within: milliseconds) }

    func stop() { isStopped.store(true, ordering: .relaxed) }
}

extension IntakeResult {
    /// The faults that the writer of the file has to fix; each reading reports them.
    private static let faults = ["bad sample", "no JSON", "line too long"]

    /// Whether the file need not be read again while it is unchanged, or only from a known instant
    /// on.
    ///
    /// That is so if the file did not break off and has no fault that its writer has to fix.
    fileprivate var isWhole: Bool {
        report.brokeAt == nil && !report.archived.hasMissed
            && (report.refused["in the future"] == nil || report.dueAt != nil)
            && IntakeResult.faults.allSatisfy { report.refused[$0] == nil }
    }
}

extension SourceReport {
    /// The counts that are stored for a reading.
    fileprivate var noted: [String: Int64] {
        var counts: [String: Int64] = [:]
        for (kind, count) in samplesByKind { counts[kind.rawValue] = count }
        for (kind, count) in made { counts[kind.rawValue, default: 0] += count }
        counts["records"] = recordsRead + nestedTaken
        counts["unmapped"] = unmapped.values.reduce(0, +)
        counts["refused"] = refused.values.reduce(0, +)
        return counts
    }
}

extension EnqueueCounts {
    fileprivate mutating func count(_ nature: SampleNature) {
        switch nature {
        case .measurement, .knownMeasurement: beforeSince += 1
        case .aggregate: metricsBeforeSince += 1
        }
    }
}
