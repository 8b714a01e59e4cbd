import Import
import HealthStore
import ClarityScheduler

/// Removes local copies that are older than their retention, and returns the space to the file
/// system.
///
/// Data that the backend has not confirmed is never removed; records of the archive, which is the
/// person's own copy, go by its own rule or never. The worker removes one kind after the
/// other, in portions. Each portion of the store is one transaction with its entry in the audit
/// log, so the worker can be killed at any point, and the next run continues.
///
/// The receipt is a note: the number removed of each kind, and a digest. A dry run over the same
/// store gives the same digest. The history of runs is not in the receipt: the scheduler enforces
/// its retention, which `store: history:` sets.
struct CleanupWorker: KindWorker {
    func run(_ options: CleanupOptions, _ context: WorkContext) async throws -> Outcome {
        var cleanup = Cleanup(options: options, context: context, counts: WorkCounts(context))
        try cleanup.run()
        return .success
    }
}

private struct Cleanup {
    /// The number of files that are removed before the audit log records them.
    private static let filesAtOnce = 100

    let options: CleanupOptions
    let context: WorkContext
    var counts: WorkCounts
    var receipt = PruneReceipt()

    mutating func run() throws {
        let now = context.clock.now
        let cutoff = now - options.retain
        let auditCutoff = now - options.retainAudit
        context.note("what counts as old was confirmed or last listed before \(cutoff)")
        do {
            for kind in PrunedKind.allCases where kind != .files && kind != .records {
                try prune(kind, before: kind == .auditEntries ? auditCutoff : cutoff)
            }
            try pruneRecords()
            if let retained = options.retainFiles { try removeFiles(before: now - retained) }
        } catch {
            if receipt.count > 0 { tell() }
            throw error
        }
        tell()
        try compact()
    }

    private mutating func prune(_ kind: PrunedKind, before cutoff: Instant) throws {
        var cursor = PruneCursor()
        var isMore = true
        while isMore {
            let before = receipt[kind].count
            isMore = try context.store.prune(kind, before: cutoff, from: &cursor, into: &receipt)
            counts.add(receipt[kind].count - before, to: "\(kind.rawValue)_removed")
            try context.checkTime()
        }
    }

    /// Removes records of the archive by the person's rule, and notes what went of each type.
    private mutating func pruneRecords() throws {
        let rule = RecordRetention(
            cutoff: options.retainRecords.map { context.clock.now - $0 },
            mostBytes: options.mostRecordBytes,
            types: options.recordTypes?.split(separator: "\n").map(String.init) ?? [])
        let archive = context.store.archive
        let readmitted = try archive.readmit(rule)
        if readmitted > 0 {
            context.note(
                "\(counted(readmitted, "months")) of records that were removed may come back: the next "
                    + "reading of a source that has them brings them")
        }
        guard rule.cutoff != nil || rule.mostBytes != nil else { return }
        var removed: [String: [PrunedMonth]] = [:]
        var isMore = true
        while isMore {
            var after = receipt
            isMore = try archive.prune(rule) { months in
                for month in months {
                    removed[month.shortName, default: []].append(month)
                    after.add(
                        .records, identity: "\(month.type) \(month.name) \(month.records)",
                        at: month.start, bytes: month.bytes, count: month.records)
                }
                return "their retention is over, \(Cleanup.span(of: months)), receipt "
                    + after.digest
            }
            counts.add(after[.records].count - receipt[.records].count, to: "records_removed")
            receipt = after
            try context.checkTime()
        }
        for (type, months) in removed.sorted(by: { $0.key < $1.key }) {
            let count = months.reduce(0) { $0 + $1.records }
            context.note(
                "\(counted(count, "records")) of \(type) removed, of "
                    + Cleanup.span(of: months))
        }
    }

    /// Returns the first and the last month: `2019-01 to 2020-05`.
    private static func span(of months: [PrunedMonth]) -> String {
        let names = months.map(\.name).sorted()
        guard let first = names.first, let last = names.last, first != last else {
            return names.first ?? "no month"
        }
        return "\(first) to \(last)"
    }

    private mutating func compact() throws {
        var isMore = true
        while isMore {
            let step = try context.store.compact()
            // If nothing else was removed, a page or two that the cleanup's own records freed is
            // not a result.
            let isResult = receipt.count > 0 || step.freed > 65_536
            counts.add(isResult ? step.freed : 0, to: "bytes_freed")
            isMore = step.isMore
            if isMore { try context.checkTime() }
        }
    }

    /// Removes old files from the spool folders. A folder that cannot be read keeps its files and
    /// is noted; the others are still cleaned.
    private mutating func removeFiles(before cutoff: Instant) throws {
        counts.add(0, to: "files_removed")
        var unreadable = 0
        let settings = try SourceSettings(context.order, zones: context.zones)
        for origin in try settings.sourceEntries() where origin.kind == .spool {
            do {
                let remains = try SpoolRemains(origin.place)
                var rest = try remains.files(before: cutoff)[...]
                while !rest.isEmpty {
                    let portion = rest.prefix(Cleanup.filesAtOnce)
                    rest = rest.dropFirst(portion.count)
                    let before = receipt.count
                    defer { counts.add(receipt.count - before, to: "files_removed") }
                    try remove(portion, of: remains)
                    try context.checkTime()
                }
            } catch SourceError.missing {
                // A folder that never existed has nothing to remove.
            } catch is SourceError {
                unreadable += 1
            }
        }
        if unreadable > 0 {
            context.note(
                "\(counted(unreadable, "spool folders")) could not be "
                    + "cleaned: see `clarity-jobs sources`")
        }
    }

    /// Removes a portion of files and records those that are gone; a dry run only counts them.
    private mutating func remove(
        _ files: ArraySlice<SpoolRemains.File>, of remains: SpoolRemains
    ) throws {
        let before = receipt.count
        var fault: SourceError?
        for file in files where fault == nil {
            do throws(SourceError) {
                let isGone = context.isDryRun ? true : try remains.remove(file)
                guard isGone else { continue }
                receipt.add(.files, identity: file.identity, at: file.movedAt, bytes: file.bytes)
            } catch {
                fault = error
            }
        }
        if receipt.count > before {
            try context.store.recordRemovedFiles(receipt.count - before, receipt)
        }
        if let fault { throw fault }
    }

    private func tell() {
        if context.isDryRun { receipt.lines.forEach(context.note) }
        let summary = receipt.count > 0 ? receipt.summary : "nothing"
        context.note("receipt: \(summary); blake2b-256 \(receipt.digest)")
    }
}

extension CleanupOptions: WorkedOptions {
    static var worker: any KindWorker { CleanupWorker() }
}

extension PruneReceipt {
    /// One line for each kind that lost entries: their number, their oldest and newest time, and
    /// their size.
    fileprivate var lines: [String] {
        PrunedKind.allCases.compactMap { kind in
            let part = self[kind]
            guard let oldest = part.oldest, let newest = part.newest else { return nil }
            return
                "\(kind.rawValue): \(part.count) from \(oldest) to \(newest), \(part.bytes) bytes"
        }
    }
}
