import ClarityJobs
import ClarityScheduler
import ClaritySystem
import Synchronization

/// What reading a source came to.
struct IntakeResult: Sendable {
    /// What was found in it; empty when it was not read.
    var report = SourceReport()
    /// What became of it in the outbox.
    var enqueued = EnqueueCounts()
    /// When the source was read in exactly this state, for which it was not read again.
    var unchangedSince: Instant?
    /// Its entry in the ledger, when it was read.
    var reading: Reading?
    /// The days and nights that were refused before they were queued, by reason.
    var madeRefused: [String: Int64] = [:]
    /// Whether the next attempt reads it again although it does not change: it broke off, or has
    /// records that may be taken later.
    var isReadAgain = false

    /// What the ledger is told beside what the portions brought.
    var counts: ReadingCounts {
        var counts = ReadingCounts()
        counts[.read] = report.recordsRead + report.nestedTaken
        counts[.paired] = report.pairedPartners
        counts[.folded] = report.folded
        counts[.repeated] = report.repeated
        counts[.unmapped] = report.unmapped.values.reduce(0, +)
        counts[.refused] = report.refused.values.reduce(0, +)
        counts[.beforeSince] = enqueued.beforeSince
        // Those that were refused here are no longer among the source's own.
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

/// What was refused before it was queued, which the source had counted as handed over.
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
        case .measurement:
            measurements[refusal.rawValue, default: 0] += 1
            kinds[kind, default: 0] += 1
        case .aggregate:
            aggregates[refusal.rawValue, default: 0] += 1
            kindsMade[kind, default: 0] += 1
        }
    }

    /// Counts the days of which a phone has totals of 0 alone.
    mutating func count(zeroSummaries count: Int64) {
        guard count > 0 else { return }
        aggregates["a day's totals of zero", default: 0] += count
        kindsMade[.activity, default: 0] += count
    }

    /// Puts them where they belong in the account of the source.
    func settle(in report: inout SourceReport, _ counts: inout EnqueueCounts) {
        report.refused.merge(measurements, uniquingKeysWith: +)
        if let dueAt { report.note(due: dueAt) }
        for (kind, count) in kinds { report.samplesByKind[kind, default: 0] -= count }
        for (kind, count) in kindsMade { report.made[kind, default: 0] -= count }
        counts.metricsRefused += aggregates.values.reduce(0, +)
    }
}

/// Brings what a source has into the outbox, unless it is known to have nothing new.
///
/// A file is read again when its stamp has changed and its content too. That it has not is found by its
/// size and its mark, without looking for samples in it. The mark of a file that is read is made beside
/// the reading; of one whose stamp is not settled before it, since a write between the two would show in
/// neither: what is noted then is the mark, and the stamp only in doubt.
struct SourceIntake: Sendable {
    private let store: HealthStore
    private let clock: any WallClock
    private let since: Instant?
    private let line: IntakeLine

    /// - Parameters:
    ///   - since: the instant before which no sample that is wanted began; `nil`: what the source
    ///     says.
    ///   - portion: how many samples are written at once, for tests.
    init(
        store: HealthStore, clock: any WallClock, since: Instant? = nil,
        portion: Int = HealthStore.intakePortion
    ) {
        self.store = store
        self.clock = clock
        self.since = since
        var line = IntakeLine(store)
        line.portion = portion
        self.line = line
    }

    /// Reads a source; what can be read of it is in the outbox when this returns.
    ///
    /// - Parameter progress: called on this thread, now and then; may throw to end the reading.
    /// - Throws: what the source and `progress` throw; `HealthStoreError`; `ThreadError`. What was
    ///   committed before stays.
    func read(
        _ source: any SampleSource, progress: @escaping (SourceProgress) throws -> Void
    ) throws -> IntakeResult {
        let since = since ?? source.since
        // A reading of fewer samples is another one: without a limit, or with an earlier one, there
        // is more to find.
        let reader = since.map { "\(source.reader) since \($0.secondsSince1970)" } ?? source.reader
        let read = { try take(source, since, progress) }
        let stamp = SourceStamp(path: source.file, reader: reader, at: clock.now)
        guard let stamp else {
            var result = try read()
            try end(result)
            result.isReadAgain = true
            return result
        }
        let last = try store.lastReading(of: source.path)
        // What was in the future then may be taken now, although the content is the same.
        let isDue = last?.dueAt.map { $0 <= clock.now } ?? false
        if !isDue, stamp.isSettled, let readAt = try store.wasRead(source.path, stamp) {
            return IntakeResult(unchangedSince: readAt)
        }
        var result: IntakeResult
        let mark: ContentMark?
        // Of another size it has another content.
        if let last, let known = last.mark, last.bytes == stamp.bytes, last.reader == reader {
            mark = try self.mark(source.file, like: known, progress)
            if !isDue, mark == known, isStill(stamp, source.file) {
                try store.noteRead(source.path, stamp, last)
                return IntakeResult(unchangedSince: last.readAt)
            }
            result = try read()
        } else if stamp.isSettled {
            (result, mark) = try markedBeside(source.file, like: last?.mark, progress) {
                try take(source, since, $0)
            }
        } else {
            mark = try self.mark(source.file, like: last?.mark, progress)
            result = try read()
        }
        // In doubt there is nothing but the mark to go by.
        if result.isWhole, stamp.isSettled || mark != nil, isStill(stamp, source.file) {
            let reading = LastReading(
                readAt: clock.now, reader: reader, bytes: stamp.bytes, mark: mark,
                counts: result.report.noted, dueAt: result.report.dueAt)
            try end(result, noted: (source.path, stamp, reading))
        } else {
            try end(result)
            result.isReadAgain = true
        }
        return result
    }

    /// Closes the reading in the ledger.
    private func end(
        _ result: IntakeResult,
        noted: (path: String, stamp: SourceStamp, reading: LastReading)? = nil
    ) throws {
        guard let reading = result.reading else { return }
        try store.end(reading, result.counts, result.reasons, noted: noted)
    }

    private func take(
        _ source: any SampleSource, _ since: Instant?,
        _ progress: @escaping (SourceProgress) throws -> Void
    ) throws -> IntakeResult {
        let reading = try store.beginReading(of: source.file)
        do {
            return try take(source, since, reading, progress)
        } catch {
            // The first error is the one that matters; what stays open the next reading closes.
            do { try store.interrupt(reading) } catch _ {}
            throw error
        }
    }

    private func take(
        _ source: any SampleSource, _ since: Instant?, _ reading: Reading,
        _ progress: @escaping (SourceProgress) throws -> Void
    ) throws -> IntakeResult {
        var before = EnqueueCounts()
        var refusals = IntakeRefusals()
        let now = clock.now
        var (report, counts) = try store.inBulk {
            try line.run(of: reading) { each in
                try source.read(progress: progress) { sample, nature in
                    if let since, sample.start < since { return before.count(nature) }
                    let accepted: Sample
                    do throws(IntakeCheck.Refusal) {
                        accepted = try IntakeCheck.accepted(sample, at: now)
                    } catch {
                        return refusals.count(error, sample, nature)
                    }
                    try each(accepted, nature)
                }
            }
        }
        counts += before
        if let zone = source.dayZone {
            let merge = DayIntake(store: store, zone: zone, now: now)
            if let days = report.days {
                try merge.keep(
                    days, of: source.entry, since: since, isAnew: source.isReadAnew)
                refusals.count(zeroSummaries: days.zeroSummaries)
                if days.zeroSummaries > 0 {
                    report.made[.activity, default: 0] += days.zeroSummaries
                }
            }
            counts += try merge.run(of: reading, &report) {
                refusals.count($0, $1, .aggregate(asOf: now))
            }
        }
        report.days = nil
        refusals.settle(in: &report, &counts)
        if !report.stepMinutes.isEmpty { try store.keep(report.stepMinutes) }
        return IntakeResult(
            report: report, enqueued: counts, reading: reading, madeRefused: refusals.aggregates)
    }

    /// Makes the file's mark on this thread.
    private func mark(
        _ path: String, like other: ContentMark?, _ progress: (SourceProgress) throws -> Void
    ) throws -> ContentMark? {
        try ContentMark(ofFile: path, like: other) {
            // Only for what it throws: nothing of the text is read yet.
            try progress(SourceProgress(bytesRead: 0, bytesTotal: nil))
            return false
        }
    }

    /// Makes the file's mark on a thread beside `read`, and calls `progress` while it waits for it.
    private func markedBeside(
        _ path: String, like other: ContentMark?,
        _ progress: @escaping (SourceProgress) throws -> Void,
        _ read: (_ progress: @escaping (SourceProgress) throws -> Void) throws -> IntakeResult
    ) throws -> (IntakeResult, ContentMark?) {
        let marking = Marking()
        var last = SourceProgress(bytesRead: 0, bytesTotal: nil)
        let result = try withThreads(
            [{ marking.run(path, like: other) }], cancel: marking.stop
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

    private func isStill(_ stamp: SourceStamp, _ path: String) -> Bool {
        stamp.inDoubt == SourceStamp(path: path, reader: stamp.reader, at: clock.now)?.inDoubt
    }
}

/// The making of a mark on another thread.
private final class Marking: Sendable {
    /// How long its end is waited for at once, in milliseconds.
    static let patience: Int32 = 200

    private let mark = Mutex<ContentMark?>(nil)
    private let isStopped = Atomic(false)
    private let end = Latch()

    var found: ContentMark? { mark.withLock { $0 } }

    func run(_ path: String, like other: ContentMark?) {
        let found = ContentMark(ofFile: path, like: other) { isStopped.load(ordering: .relaxed) }
        mark.withLock { $0 = found }
        end.open()
    }

    /// Waits for the end, but no longer than so many milliseconds.
    func hasEnded(within milliseconds: Int32) -> Bool { end.isOpen(within: milliseconds) }

    func stop() { isStopped.store(true, ordering: .relaxed) }
}

extension IntakeResult {
    /// What the writer of the file has to mend; each reading complains of it.
    private static let faults = ["bad sample", "no JSON", "line too long"]

    /// Whether it is known when a later reading of the same file would find more, if ever, and none
    /// would complain: it did not break off, and all its days and nights are over.
    fileprivate var isWhole: Bool {
        report.brokeAt == nil && !(report.endsNow && !report.unfinished.isEmpty)
            && (report.refused["in the future"] == nil || report.dueAt != nil)
            && IntakeResult.faults.allSatisfy { report.refused[$0] == nil }
    }
}

extension SourceReport {
    /// What is noted of a reading.
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
        case .measurement: beforeSince += 1
        case .aggregate: metricsBeforeSince += 1
        }
    }
}
