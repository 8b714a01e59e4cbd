import HealthModel
import HealthStore
import ClarityScheduler
import Import
import Platform

/// Imports the samples of the sources into the outbox, and accounts for every record.
///
/// `samples_read` is the sum of `samples_queued`, `samples_duplicate`, `samples_paired`,
/// `samples_folded`, `samples_repeated`, `samples_kept_here`, `samples_refused` and
/// `samples_before_since`. `metrics_made` counts the days and nights that were made of records. It
/// is the sum of `metrics_queued`, `metrics_known`, `metrics_replaced`, `metrics_corrected`,
/// `metrics_kept`, `metrics_refused` and `metrics_before_since`. Without a backend nothing is queued
/// to be sent: `samples_new` and `metrics_new` take the place of the two counts of what is queued.
struct SourceImport {
    /// The maximum number of names in a note, so that no note is cut.
    private static let namesPerNote = 8
    /// The maximum number of notes with the same title: 160 names, where a decade's export has
    /// about 100.
    private static let notesPerTitle = 20

    private let context: WorkContext
    private var counts: WorkCounts
    private var settling: SpoolSettling
    /// The pending notes about the sources of one name that were read last.
    private var pending: SourceNotes?
    /// The number of files of each source that were not read again, and when the last of them was
    /// read.
    private var unchanged: [(name: String, files: Int, readAt: Instant)] = []

    /// The marks of the files that an attempt of this run has counted and that the next attempt
    /// reads again: a record counts once a run.
    private var counted: Set<Substring>
    /// The maximum number of marks in a checkpoint.
    private static let mostMarks = 48

    /// Whether none of the sources to read exists.
    private var hasNoSource = false

    init(_ context: WorkContext) {
        self.context = context
        counts = WorkCounts(context)
        counted = Set(context.order.checkpoint?.split(separator: ",") ?? [])
        settling = SpoolSettling(context)
    }

    /// Reads the sources of the order, in the time zone of its account.
    ///
    /// - Returns: the first failure; `nil` if all sources were read to their end.
    /// - Throws: `WorkStopped`; `Failure` for options that do not fit; an error of the store.
    mutating func run() throws -> Failure? {
        var settings = try SourceSettings(context.order, zones: context.zones)
        try settings.settleZone(context.store)
        return try run(try settings.sources(now: context.clock.now))
    }

    /// Returns the outcome of a run with a failure: it waits if there is no source at all.
    func outcome(after failure: Failure) -> Outcome {
        guard hasNoSource else { return .failure(failure) }
        return .awaits(
            .source, Failure(failure.category, "waits for a source: \(failure.reason)"))
    }

    /// Reads sources; what could be read is in the outbox when this returns.
    ///
    /// A file of a spool folder is moved away after it was read. A dry run leaves it, because its
    /// samples are in no real outbox.
    ///
    /// - Returns: the first failure; `nil` if all sources were read to their end.
    /// - Throws: `WorkStopped`, or an error of the store.
    mutating func run(_ sources: [any SampleSource]) throws -> Failure? {
        // Runs after an error too, for the sources before it.
        defer {
            describe()
            settling.note()
        }
        var failure: Failure?
        var missing = 0
        for source in sources {
            do {
                keep(try read(source), in: &failure)
                try delete(source)
            } catch let error as SourceError {
                if case .missing = error { missing += 1 }
                keep(error.failure, in: &failure)
            }
            if let file = source as? SpoolSource { keep(settling.settle(file), in: &failure) }
        }
        noteUnchanged()
        hasNoSource = missing > 0 && missing == sources.count
        return failure
    }

    /// Deletes the source's file if it is done and the job file asks for that; a dry run leaves it.
    private mutating func delete(_ source: any SampleSource) throws {
        guard source.isDeletedWhenRead, !context.isDryRun else { return }
        let intake = SourceIntake(store: context.store, clock: context.clock)
        counts.add(try intake.deleteIfDone(source) ? 1 : 0, to: "files_deleted")
    }

    /// Keeps the first failure, with which the run ends. Later failures become notes.
    private func keep(_ next: Failure?, in failure: inout Failure?) {
        if failure == nil { failure = next } else if let next { context.note(next.reason) }
    }

    private mutating func read(_ source: any SampleSource) throws -> Failure? {
        var lastPercent: Int64 = -1
        let context = context
        let intake = SourceIntake(store: context.store, clock: context.clock)
        let result = try intake.read(source) { progress in
            // Checks the time here too, because a long file may contain nothing for us.
            try context.checkTime()
            guard let total = progress.bytesTotal, total > 0 else { return }
            let percent = min(100, progress.bytesRead * 100 / total)
            guard percent != lastPercent else { return }
            lastPercent = percent
            context.report(.progress(done: percent, total: 100))
        }
        let mark = contentDigest(Array(source.file.utf8)).prefix(16)
        if counted.contains(mark) {
            count(SourceReport(), EnqueueCounts())
        } else {
            count(result.report, result.enqueued)
            // A file of a spool folder is not read again: it is moved away.
            if result.isReadAgain, !(source is SpoolSource), counted.count < SourceImport.mostMarks
            {
                counted.insert(mark)
                context.report(.checkpoint(counted.sorted().joined(separator: ",")))
            }
        }
        if let readAt = result.unchangedSince {
            // A folder may have a file for each day of several years.
            if let last = unchanged.last, last.name == source.name {
                unchanged[unchanged.count - 1] = (
                    last.name, last.files + 1, max(last.readAt, readAt)
                )
            } else {
                unchanged.append((source.name, 1, readAt))
            }
            return nil
        }
        if pending?.name != source.name {
            describe()
            pending = SourceNotes(name: source.name)
        }
        pending?.add(result)
        return result.report.brokeAt.map { broken in
            Failure(
                broken.isOfDisk ? .disk : .work,
                "`\(source.name)` breaks off at byte \(broken.byteOffset) of its text: "
                    + "\(broken.reason); what was read before it is kept")
        }
    }

    private func noteUnchanged() {
        for (name, files, readAt) in unchanged {
            context.note(
                files == 1
                    ? "`\(name)` is as it was when it was read at \(readAt)"
                    : "`\(name)`: \(files) files are as they were when they were read, the last "
                        + "at \(readAt)")
        }
    }

    private mutating func count(_ report: SourceReport, _ enqueued: EnqueueCounts) {
        let new = context.backend == nil ? "new" : "queued"
        counts.add([
            "samples_read": report.recordsRead + report.nestedTaken,
            "samples_\(new)": enqueued.queued, "samples_duplicate": enqueued.duplicates,
            "samples_before_since": enqueued.beforeSince,
            "samples_paired": report.pairedPartners, "samples_folded": report.aggregated,
            "samples_repeated": report.repeated,
            "samples_kept_here": report.unmapped.values.reduce(0, +),
            "samples_refused": report.refused.values.reduce(0, +),
            "samples_nested": report.nestedSkipped, "metrics_made": enqueued.metrics,
            "metrics_\(new)": enqueued.metricsQueued, "metrics_known": enqueued.metricsKnown,
            "metrics_replaced": enqueued.replaced, "metrics_corrected": enqueued.corrected,
            "metrics_kept": enqueued.keptAsSent,
            "metrics_before_since": enqueued.metricsBeforeSince,
            "metrics_refused": enqueued.metricsRefused,
        ])
    }

    /// Writes the pending notes about the sources of one name.
    private mutating func describe() {
        guard let pending else { return }
        self.pending = nil
        for (title, entries) in [
            ("not over yet", pending.unfinished),
            (context.backend == nil ? "kept as records alone" : "no field for", pending.unmapped),
            ("refused", pending.refused),
            ("days, nights, sums and workouts refused", pending.madeRefused),
            ("read in spite of", pending.malformations),
            ("not kept", pending.elementsRefused),
        ] where !entries.isEmpty {
            for line in listed(entries) { context.note("`\(pending.name)`: \(title) \(line)") }
        }
        for sentence in pending.damage.prefix(SourceImport.notesPerTitle) {
            context.note("\(sentence); see `clarity-jobs audit`")
        }
        if pending.pruned > 0 {
            context.note(
                "`\(pending.name)`: \(pending.pruned) records of months that `cleanup` removed are "
                    + "not kept")
        }
        if pending.unexplained != 0 {
            context.note(
                "`\(pending.name)`: \(pending.unexplained) records are unaccounted for, which is a "
                    + "fault of the reader")
        }
    }

    /// Returns all counts with their names, the largest first, on as many lines as notes of limited
    /// length need: `StepCount (120), BodyMass (3)`.
    private func listed(_ entries: [String: Int64]) -> [String] {
        let parts = entries.ranked.map { "\($0.name.cut(toBytes: 80)) (\($0.count))" }
        let starts = stride(from: 0, to: parts.count, by: SourceImport.namesPerNote)
        var lines = starts.prefix(SourceImport.notesPerTitle).map { start in
            parts[start..<min(start + SourceImport.namesPerNote, parts.count)]
                .joined(separator: ", ")
        }
        let left = parts.count - SourceImport.namesPerNote * SourceImport.notesPerTitle
        if left > 0 { lines.append("\(left) more") }
        return lines
    }
}

/// The notes about sources of one name, such as the files of a folder. They are combined, because
/// the notes of many files would crowd out all others.
private struct SourceNotes {
    /// The maximum number of names of one sort; any others are counted together.
    private static let mostNames = 1024

    let name: String
    private(set) var unfinished: [String: Int64] = [:]
    private(set) var unmapped: [String: Int64] = [:]
    private(set) var refused: [String: Int64] = [:]
    private(set) var madeRefused: [String: Int64] = [:]
    private(set) var malformations: [String: Int64] = [:]
    private(set) var elementsRefused: [String: Int64] = [:]
    private(set) var unexplained: Int64 = 0
    private(set) var pruned: Int64 = 0
    /// A sentence for each damaged month of the archive.
    private(set) var damage: [String] = []

    mutating func add(_ result: IntakeResult) {
        let report = result.report
        // A text that breaks off makes no day; the failure says so.
        if report.brokeAt == nil {
            for (kind, count) in report.unfinished {
                unfinished[kind.rawValue, default: 0] += count
            }
        }
        SourceNotes.add(report.unmapped, to: &unmapped)
        SourceNotes.add(report.refused, to: &refused)
        SourceNotes.add(result.madeRefused, to: &madeRefused)
        SourceNotes.add(report.malformations, to: &malformations)
        SourceNotes.add(report.elementsRefused, to: &elementsRefused)
        unexplained += report.unexplained
        pruned += report.archived.pruned
        damage += report.archived.damaged.filter { !damage.contains($0) }
    }

    private static func add(_ more: [String: Int64], to counts: inout [String: Int64]) {
        for (name, count) in more {
            counts.add(count, to: name, atMost: mostNames, else: "(other types)")
        }
    }
}

/// Moves away the files that were read from spool folders, and notes those with bad samples.
struct SpoolSettling {
    private let context: WorkContext
    private var counts: WorkCounts?
    private var rejected: [String: Int] = [:]

    init(_ context: WorkContext) { self.context = context }

    /// Settles a file whose samples are in the outbox; a dry run leaves it where it is.
    mutating func settle(_ file: SpoolSource) -> Failure? {
        guard !context.isDryRun else {
            file.leave()
            return nil
        }
        var counts = counts ?? WorkCounts(context)
        defer { self.counts = counts }
        do throws(SourceError) {
            switch try file.settle() {
            case .done: counts.add(1, to: "files_done")
            case .rejected:
                counts.add(1, to: "files_rejected")
                rejected[file.name, default: 0] += 1
            case .waiting: break
            }
            return nil
        } catch {
            return error.failure
        }
    }

    /// Notes how many files of each folder have bad samples.
    func note() {
        for (folder, count) in rejected.sorted(by: { $0.key < $1.key }) {
            context.note(
                "`\(folder)`: \(count) \(count == 1 ? "file has" : "files have") bad samples; "
                    + "see `\(SpoolFolder.rejectedName)` in it")
        }
    }
}

/// Reads the sources into the archive, and sends nothing.
///
/// The samples that it finds wait for a `bulk-upload`; without a backend, they are packed.
struct ImportWorker: KindWorker {
    func run(_ options: ImportingOptions, _ context: WorkContext) async throws -> Outcome {
        // A wiped account is about to be removed.
        if context.backend == nil, context.order.job.account == nil {
            try context.store.sessions.beginWithoutLogin()
        }
        var reading = SourceImport(context)
        let broken = try reading.run()
        if context.backend == nil, !context.isDryRun {
            try context.store.outbox.packKept(at: context.clock.now)
        }
        return broken.map { reading.outcome(after: $0) } ?? .success
    }
}

extension ImportingOptions: WorkedOptions {
    static var worker: any KindWorker { ImportWorker() }
}
