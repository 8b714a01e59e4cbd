public import HealthStore
public import ClarityScheduler
import Platform
import HealthModel
public import JSON

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

// The result of an import, for people and for programs. Both contain the names of sources only on
// request, because those are for the person at the terminal.

extension ImportAccount {
    /// One line for people.
    public var summary: String {
        if unchanged == files, let unchangedSince {
            let what = hasOtherBytes ? "the same records were" : "unchanged since it was"
            return "`\(name)`: \(what) read at \(unchangedSince)".forReport
        }
        let new = hasBackend ? "queued" : "new"
        var parts = [
            (enqueued.queued, new), (enqueued.duplicates, "known"),
            (report.pairedPartners, "paired"), (report.aggregated, "folded"),
            (report.repeated, "repeated"),
            (report.unmapped.values.reduce(0, +), "kept here"),
            (report.refused.values.reduce(0, +), "refused"),
            (enqueued.beforeSince, "before the time asked for"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        if parts.isEmpty { parts = ["nothing in it"] }
        let records = report.recordsRead + report.nestedTaken
        var text = "`\(name)`: \(counted(records, "records")) read"
        if files > 1 { text += " from \(files) files" }
        text += ": \(parts.joined(separator: ", "))"
        let metrics = [
            (enqueued.metricsQueued, new), (enqueued.metricsKnown, "known"),
            (enqueued.replaced, "replaced"), (enqueued.corrected, "corrected"),
            (enqueued.keptAsSent, "kept as they were sent"), (enqueued.metricsRefused, "refused"),
            (enqueued.metricsBeforeSince, "before the time asked for"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        if !metrics.isEmpty {
            text += "; days, nights, sums and workouts: \(metrics.joined(separator: ", "))"
        }
        // A text that breaks off makes no day; the complaint says so.
        let unfinished = report.unfinished.values.reduce(0, +)
        if unfinished > 0, report.brokeAt == nil { text += "; \(unfinished) not over yet" }
        if report.archived.pruned > 0 {
            text += "; \(counted(report.archived.pruned, "records")) of removed months not kept"
        }
        if unchanged > 0 { text += "; \(counted(unchanged, "files")) unchanged" }
        if report.made[.activity] != nil || report.unfinished[.activity] != nil {
            text += "; \(zoneLine)"
        }
        return text.forReport
    }

    private var zoneLine: String { "days follow \(timeZone)" }

    /// Why the file was not imported as a whole; `nil` if it was.
    public var complaint: String? {
        if let problem {
            let others = unread > 1 ? "; \(unread - 1) more could not be read" : ""
            return (problem + others).forReport
        }
        if let broken = report.brokeAt {
            return
                ("`\(name)` breaks off at byte \(broken.byteOffset) of its text: "
                + "\(broken.reason); what was read before it is kept").forReport
        }
        guard faultCount > 0 else { return nil }
        return "`\(name)` has \(counted(faultCount, "bad samples")); the others are taken"
            .forReport
    }

    /// The whole report as lines for people.
    public var reportLines: [String] {
        var lines = [zoneLine]
        func list(_ title: String, _ entries: [(name: String, value: String)]) {
            guard !entries.isEmpty else { return }
            lines.append(title)
            let width = entries.map(\.name.count).max() ?? 0
            for entry in entries {
                let gap = String(repeating: " ", count: width - entry.name.count + 2)
                lines.append("  \(entry.name)\(gap)\(entry.value)")
            }
        }
        func list(_ title: String, _ counts: [String: Int64]) {
            list(title, counts.ranked.map { ($0.0.forReport, "\($0.1)") })
        }
        list("samples", kinds(report.samplesByKind))
        list("days, nights, sums and workouts", kinds(report.made))
        list("not over yet", kinds(report.unfinished))
        if report.nightsWithoutSleep > 0 {
            lines.append(
                "nights of which only the time in bed is known: \(report.nightsWithoutSleep)")
        }
        list(hasBackend ? "no field for" : "kept as records alone", report.unmapped)
        list("refused", report.refused)
        list("days, nights, sums and workouts refused", madeRefused)
        list(
            "read in spite of",
            report.malformations.ranked.map { name, count in
                let first = report.firstOffsets[name].map { ", first at byte \($0)" } ?? ""
                return (name, "\(count)\(first)")
            })
        list("records by source", report.bySource)
        list("elements", report.elements)
        list("elements and files that are not kept", report.elementsRefused)
        list(
            "files that are not kept",
            report.filesRefused.sorted { $0.key < $1.key }.map { ($0.key.forReport, $0.value) })
        list("beside the records", report.attachments)
        return lines
    }

    /// The values of the result by their names. `by_source` has the names of sources, which are
    /// personal.
    public var facts: [String: JSON] {
        let broken: JSON? = report.brokeAt.map {
            ["byte_offset": .integer($0.byteOffset), "reason": .string($0.reason)]
        }
        return [
            "name": .string(name), "kind": .string(kind.rawValue), "time_zone": .string(timeZone),
            "files": .count(files), "files_unchanged": .count(unchanged),
            "files_unread": .count(unread), "unchanged_since": .text(unchangedSince),
            "bytes_read": .integer(report.bytesRead),
            "records_read": .integer(report.recordsRead + report.nestedTaken),
            "samples": object(kinds(report.samplesByKind)), "made": object(kinds(report.made)),
            "unfinished": object(kinds(report.unfinished)),
            "nights_without_sleep": .integer(report.nightsWithoutSleep),
            "queued": .integer(enqueued.queued), "known": .integer(enqueued.duplicates),
            "before_since": .integer(enqueued.beforeSince),
            "paired": .integer(report.pairedPartners), "folded": .integer(report.aggregated),
            "repeated": .integer(report.repeated),
            "metrics_queued": .integer(enqueued.metricsQueued),
            "metrics_known": .integer(enqueued.metricsKnown),
            "metrics_replaced": .integer(enqueued.replaced),
            "metrics_corrected": .integer(enqueued.corrected),
            "metrics_kept": .integer(enqueued.keptAsSent),
            "metrics_refused": .integer(enqueued.metricsRefused),
            "metrics_before_since": .integer(enqueued.metricsBeforeSince),
            "pruned": .integer(report.archived.pruned), "nested": .integer(report.nestedSkipped),
            "bad_samples": .count(faultCount),
            "unmapped": object(report.unmapped), "refused": object(report.refused),
            "made_refused": object(madeRefused),
            "elements_refused": object(report.elementsRefused), "malformations": malformations,
            "by_source": object(report.bySource), "elements": object(report.elements),
            "files_refused": .object(
                report.filesRefused.sorted { $0.key < $1.key }.map { name, reason in
                    JSON.Member(name: name, value: .string(reason))
                }),
            "attachments": object(report.attachments), "broke_at": broken ?? .null,
        ]
    }

    private var malformations: JSON {
        .object(
            report.malformations.ranked.map { name, count in
                let first = report.firstOffsets[name].map { JSON.integer($0) }
                return JSON.Member(
                    name: name,
                    value: ["count": .integer(count), "first_offset": first ?? .null])
            })
    }

    private func object(_ counts: [String: Int64]) -> JSON {
        .object(counts.ranked.map { JSON.Member(name: $0.0, value: .integer($0.1)) })
    }

    private func kinds(_ counts: [SampleKind: Int64]) -> [String: Int64] {
        Dictionary(uniqueKeysWithValues: counts.map { ($0.rawValue, $1) })
    }
}

/// Writes the progress of an import: a bar that is redrawn on a terminal, or lines elsewhere. It
/// decides on the text and on when to show it, and draws nothing itself.
public struct ImportProgressText: Sendable {
    private var bar: ProgressBar
    private var lastStep: Int64 = 0
    private var lastFile = 1

    /// Starts at `elapsed` on the monotonic clock.
    public init(at elapsed: Duration) { bar = ProgressBar(at: elapsed) }

    /// Returns the bar to draw now, at most `width` columns wide; `nil` if nothing is read yet or
    /// the last bar is too recent.
    public mutating func bar(
        _ progress: ImportProgress, at elapsed: Duration, width: Int
    ) -> String? {
        guard progress.found.bytesRead > 0 || progress.found.bytesTotal != nil else { return nil }
        guard bar.isDue(at: elapsed) else { return nil }
        let found = progress.found
        var facts: [String] = []
        if let share = share(found) {
            facts.append("\(ProgressBar.percent(share)) %")
            facts.append("\(bytes(found.bytesRead)) of \(bytes(found.bytesTotal ?? 0))")
        } else {
            facts.append(bytes(found.bytesRead))
        }
        if found.recordsRead > 0 { facts.append(counted(found.recordsRead, "records")) }
        if progress.files > 1 { facts.append("file \(progress.file) of \(progress.files)") }
        // The sizes of further files are not known yet.
        if progress.files == 1, let share = share(found),
            let left = bar.timeLeft(share, at: elapsed)
        {
            facts.append(left)
        }
        return ProgressBar.text(facts, share: share(found), width: width)
    }

    /// Returns the line to write now; `nil` until another tenth of a file is read.
    public mutating func line(_ progress: ImportProgress, name: String) -> String? {
        if progress.file != lastFile {
            lastFile = progress.file
            lastStep = 0
        }
        guard let share = share(progress.found) else { return nil }
        let step = ProgressBar.percent(share) / 10
        guard step > lastStep else { return nil }
        lastStep = step
        let file = progress.files > 1 ? ", file \(progress.file) of \(progress.files)" : ""
        let records = progress.found.recordsRead
        let counted = records > 0 ? ", \(counted(records, "records"))" : ""
        return "`\(name)`: \(step * 10) % read\(counted)\(file)".forReport
    }

    private func share(_ found: SourceProgress) -> Double? {
        guard let total = found.bytesTotal, total > 0 else { return nil }
        return min(1, max(0, Double(found.bytesRead) / Double(total)))
    }

    /// `831 B`, `64 kB`, `877 MB`.
    private func bytes(_ count: Int64) -> String {
        switch count {
        case ..<1000: "\(count) B"
        case ..<1_000_000: "\(count / 1000) kB"
        case ..<10_000_000_000: "\(count / 1_000_000) MB"
        default: "\(count / 1_000_000_000) GB"
        }
    }
}
