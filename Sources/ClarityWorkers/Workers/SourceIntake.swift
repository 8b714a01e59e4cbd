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
}

/// Brings what a source has into the outbox, unless it is known to have nothing new.
///
/// A file is read again when its stamp has changed and its content too. That it has not is found by its
/// size and its mark, without looking for samples in it; the mark of a file that is read is made beside
/// the reading.
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
        guard let stamp else { return try read() }
        if let readAt = try store.wasRead(source.path, stamp) {
            return IntakeResult(unchangedSince: readAt)
        }
        let last = try store.lastReading(of: source.path)
        let result: IntakeResult
        let mark: ContentMark?
        // Of another size it has another content.
        if let last, let known = last.mark, last.bytes == stamp.bytes, last.reader == reader {
            mark = try ContentMark(ofFile: source.file, like: known) {
                // Only for what it throws: nothing of the text is read yet.
                try progress(SourceProgress(bytesRead: 0, bytesTotal: nil))
                return false
            }
            if mark == known, isStill(stamp, source.file) {
                try store.noteRead(source.path, stamp, last)
                return IntakeResult(unchangedSince: last.readAt)
            }
            result = try read()
        } else {
            (result, mark) = try markedBeside(source.file, like: last?.mark, read)
        }
        if result.isWhole, isStill(stamp, source.file) {
            let reading = LastReading(
                readAt: clock.now, reader: reader, bytes: stamp.bytes, mark: mark,
                counts: result.report.noted)
            try store.noteRead(source.path, stamp, reading)
        }
        return result
    }

    private func take(
        _ source: any SampleSource, _ since: Instant?,
        _ progress: @escaping (SourceProgress) throws -> Void
    ) throws -> IntakeResult {
        var before = EnqueueCounts()
        var (report, counts) = try store.inBulk {
            try line.run { each in
                try source.read(progress: progress) { sample, nature in
                    if let since, sample.start < since {
                        before.count(nature)
                    } else {
                        try each(sample, nature)
                    }
                }
            }
        }
        counts += before
        if !report.stepMinutes.isEmpty { try store.keep(report.stepMinutes) }
        return IntakeResult(report: report, enqueued: counts)
    }

    /// Makes the file's mark on a thread beside `read`.
    private func markedBeside(
        _ path: String, like other: ContentMark?, _ read: () throws -> IntakeResult
    ) throws -> (IntakeResult, ContentMark?) {
        let marking = Marking()
        let result = try withThreads(
            [{ marking.run(path, like: other) }], cancel: marking.stop
        ) {
            do {
                return try read()
            } catch {
                marking.stop()
                throw error
            }
        }
        return (result, marking.found)
    }

    private func isStill(_ stamp: SourceStamp, _ path: String) -> Bool {
        stamp == SourceStamp(path: path, reader: stamp.reader, at: clock.now)
    }
}

/// The making of a mark on another thread.
private final class Marking: Sendable {
    private let mark = Mutex<ContentMark?>(nil)
    private let isStopped = Atomic(false)

    var found: ContentMark? { mark.withLock { $0 } }

    func run(_ path: String, like other: ContentMark?) {
        let found = ContentMark(ofFile: path, like: other) { isStopped.load(ordering: .relaxed) }
        mark.withLock { $0 = found }
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }
}

extension IntakeResult {
    /// Whether a later reading of the same file would find no more: it did not break off, and a sample
    /// from the future is refused today and taken tomorrow.
    fileprivate var isWhole: Bool {
        report.brokeAt == nil && report.refused["in the future"] == nil
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
