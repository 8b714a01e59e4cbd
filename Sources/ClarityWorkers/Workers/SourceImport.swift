import ClarityJobs
import ClarityScheduler

/// Brings the samples of the sources into the outbox and accounts for every record.
///
/// `samples_read` is the sum of `samples_queued`, `samples_duplicate`, `samples_paired`,
/// `samples_folded`, `samples_repeated`, `samples_unmapped`, `samples_refused` and
/// `samples_before_since`; the days and nights that were made of records are `metrics_made`, the sum of
/// `metrics_queued`, `metrics_known`, `metrics_replaced`, `metrics_corrected`, `metrics_kept`,
/// `metrics_refused` and `metrics_before_since`.
struct SourceImport {
    /// How many names a note holds, so that it is never cut.
    private static let namesPerNote = 8
    /// How many notes one title may take: 160 names, where a decade's export has about 100.
    private static let notesPerTitle = 20

    private let context: WorkContext
    private var counts: WorkCounts
    private var settling: SpoolSettling
    /// What is to be told of the sources of one name that were read last.
    private var told: SourceNotes?
    /// How many files of each source were not read again, and when the last of them was read.
    private var unchanged: [(name: String, files: Int, readAt: Instant)] = []

    /// The marks of the files that an attempt of this run has counted and that are read again by the
    /// next: a record counts once a run.
    private var counted: Set<Substring>
    /// How many marks a checkpoint holds.
    private static let mostMarks = 48

    /// Whether there was none of the sources that were to be read.
    private(set) var hasNoSource = false

    init(_ context: WorkContext) {
        self.context = context
        counts = WorkCounts(context)
        counted = Set(context.order.checkpoint?.split(separator: ",") ?? [])
        settling = SpoolSettling(context)
    }

    /// Reads all sources; what can be read of them is in the outbox when this returns. A file of a
    /// spool folder is moved away when it was read, unless this is a rehearsal: what that read is in
    /// no outbox.
    ///
    /// - Returns: the first source's failure; `nil` when all were read to their end.
    /// - Throws: `WorkStopped`, or what the store fails with.
    mutating func run(_ sources: [any SampleSource]) throws -> Failure? {
        // Also of those before one that ends all.
        defer {
            describe()
            settling.note()
        }
        var failure: Failure?
        var missing = 0
        for source in sources {
            do {
                keep(try read(source), in: &failure)
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

    /// Keeps the first failure, which the run then ends with; further ones are notes.
    private func keep(_ next: Failure?, in failure: inout Failure?) {
        if failure == nil { failure = next } else if let next { context.note(next.reason) }
    }

    private mutating func read(_ source: any SampleSource) throws -> Failure? {
        var lastPercent: Int64 = -1
        let context = context
        let intake = SourceIntake(store: context.store, clock: context.clock)
        let result = try intake.read(source) { progress in
            // Here too, since a file can be long and have nothing in it for us.
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
            // A file of a spool folder is moved away once it is read.
            if result.isReadAgain, !(source is SpoolSource), counted.count < SourceImport.mostMarks
            {
                counted.insert(mark)
                context.report(.checkpoint(counted.sorted().joined(separator: ",")))
            }
        }
        if let readAt = result.unchangedSince {
            // A folder can have a file for each day of years.
            if let last = unchanged.last, last.name == source.name {
                unchanged[unchanged.count - 1] = (
                    last.name, last.files + 1, max(last.readAt, readAt)
                )
            } else {
                unchanged.append((source.name, 1, readAt))
            }
            return nil
        }
        if told?.name != source.name {
            describe()
            told = SourceNotes(name: source.name)
        }
        told?.add(result)
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
        counts.add(report.recordsRead + report.nestedTaken, to: "samples_read")
        counts.add(enqueued.queued, to: "samples_queued")
        counts.add(enqueued.duplicates, to: "samples_duplicate")
        counts.add(enqueued.beforeSince, to: "samples_before_since")
        counts.add(report.pairedPartners, to: "samples_paired")
        counts.add(report.folded, to: "samples_folded")
        counts.add(report.repeated, to: "samples_repeated")
        counts.add(report.unmapped.values.reduce(0, +), to: "samples_unmapped")
        counts.add(report.refused.values.reduce(0, +), to: "samples_refused")
        counts.add(report.nestedSkipped, to: "samples_nested")
        counts.add(enqueued.metrics, to: "metrics_made")
        counts.add(enqueued.metricsQueued, to: "metrics_queued")
        counts.add(enqueued.metricsKnown, to: "metrics_known")
        counts.add(enqueued.replaced, to: "metrics_replaced")
        counts.add(enqueued.corrected, to: "metrics_corrected")
        counts.add(enqueued.keptAsSent, to: "metrics_kept")
        counts.add(enqueued.metricsBeforeSince, to: "metrics_before_since")
        counts.add(enqueued.metricsRefused, to: "metrics_refused")
    }

    /// Tells of the sources of one name, and forgets them.
    private mutating func describe() {
        guard let told else { return }
        self.told = nil
        for (title, entries) in [
            ("not over yet", told.unfinished), ("no field for", told.unmapped),
            ("refused", told.refused), ("days, nights and sums refused", told.madeRefused),
            ("read in spite of", told.malformations),
        ] where !entries.isEmpty {
            for line in listed(entries) { context.note("`\(told.name)`: \(title) \(line)") }
        }
        if told.unexplained != 0 {
            context.note(
                "`\(told.name)`: \(told.unexplained) records are unaccounted for, which is a "
                    + "fault of the reader")
        }
    }

    /// All counts with their names, the largest first, as many lines as notes of bounded length take:
    /// `StepCount (120), BodyMass (3)`.
    private func listed(_ entries: [String: Int64]) -> [String] {
        let parts = entries.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { "\($0.key.cut(toBytes: 80)) (\($0.value))" }
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

/// What is told of sources of one name, such as the files of a folder: all of them together, or the
/// many would crowd out what else there is to tell.
private struct SourceNotes {
    /// The most names of one sort; what else there is counts together.
    private static let mostNames = 1024

    let name: String
    private(set) var unfinished: [String: Int64] = [:]
    private(set) var unmapped: [String: Int64] = [:]
    private(set) var refused: [String: Int64] = [:]
    private(set) var madeRefused: [String: Int64] = [:]
    private(set) var malformations: [String: Int64] = [:]
    private(set) var unexplained: Int64 = 0

    init(name: String) { self.name = name }

    mutating func add(_ result: IntakeResult) {
        let report = result.report
        // Of a text that breaks off no day is made, which the failure says.
        if report.brokeAt == nil {
            for (kind, count) in report.unfinished {
                unfinished[kind.rawValue, default: 0] += count
            }
        }
        SourceNotes.add(report.unmapped, to: &unmapped)
        SourceNotes.add(report.refused, to: &refused)
        SourceNotes.add(result.madeRefused, to: &madeRefused)
        SourceNotes.add(report.malformations, to: &malformations)
        unexplained += report.unexplained
    }

    private static func add(_ more: [String: Int64], to counts: inout [String: Int64]) {
        for (name, count) in more {
            let isKnown = counts[name] != nil || counts.count < mostNames
            counts[isKnown ? name : "(other types)", default: 0] += count
        }
    }
}
