public import HealthStore
public import ClarityScheduler
import Platform
public import JSON

/// The status of one source of the job file.
public struct SourceStatus: Hashable, Sendable {
    /// The state of a source, according to its files and to the records of earlier readings.
    public enum State: String, Hashable, Sendable {
        case neverRead = "never_read"
        /// It was read and has not changed since.
        case unchanged
        /// It was read, and its contents have changed or grown since.
        case changed
        case missing
        /// This user may not read it, or it is not what it should be.
        case unreadable
        case empty
        /// Files wait in a spool folder.
        case waiting
    }

    public var kind: String
    public var path: String
    public var state: State
    /// Why the source is unreadable; `nil` in other states.
    public var problem: String?
    /// When the source was last read to its end.
    public var readAt: Instant?
    /// The number of its files, or of those that wait.
    public var files: Int
    /// The number of rejected files that are still in a spool folder; `nil` for other kinds.
    public var rejected: Int?
    /// The counts of the last reading, by name.
    public var counts: [String: Int64]
    /// The time zone that the days of the account follow; `nil` before the first reading.
    public var timeZone: String?

    /// Returns the status of each source of an order's job file, in order.
    ///
    /// - Parameter store: `nil` if nothing was ever read.
    /// - Throws: `Failure` for options that do not fit, `HealthStoreError`.
    public static func all(
        _ order: AttemptOrder, store: HealthStore?, now: Instant, zones: SourceZones
    ) throws -> [SourceStatus] {
        var zones = zones
        if let kept = try store?.outbox.dayZone() {
            zones.local = kept.name
            if kept.isSettled { zones.settled = kept.name }
        }
        return try SourceSettings(order, zones: zones).sourceEntries().map { entry in
            var status = try SourceStatus(entry, store, now: now)
            status.timeZone = zones.settled
            return status
        }
    }

    init(_ entry: SourceEntry, _ store: HealthStore?, now: Instant) throws {
        (kind, path) = (entry.kind.rawValue, entry.path)
        (state, files, counts) = (.neverRead, 0, [:])
        do throws(SourceError) {
            if entry.kind == .spool {
                let folder = try SpoolFolder(entry.place)
                files = try folder.waiting().count
                rejected = try folder.rejected()
                state = files > 0 ? .waiting : .empty
                return
            }
            if let refusal = entry.refusal { throw refusal }
            let file = try OpenFile(entry.place)
            if !file.isFolder { try file.checkHasContents() }
        } catch {
            state = error.state
            problem = state == .unreadable ? error.description : nil
        }
        let isThere = problem == nil && state == .neverRead
        let sources = isThere ? entry.sources(now: now) : []
        files = sources.count
        if isThere, sources.isEmpty { state = .empty }
        try compare(sources, with: store, now: now)
        // The last counts of a missing or unreadable source are still known.
        if !isThere, let last = try store?.outbox.lastReading(of: entry.path) {
            (readAt, counts) = (last.readAt, last.counts)
        }
    }

    private mutating func compare(
        _ sources: [any SampleSource], with store: HealthStore?, now: Instant
    ) throws {
        guard let store else { return }
        var (known, same) = (0, 0)
        for source in sources {
            if let last = try store.outbox.lastReading(of: source.path) {
                known += 1
                readAt = max(readAt ?? last.readAt, last.readAt)
                counts.merge(last.counts, uniquingKeysWith: +)
            }
            if let stamp = source.stamp(source.fullReader, at: now),
                try store.outbox.wasRead(source.path, stamp) != nil
                    || store.outbox.wasRead(source.path, stamp.inDoubt) != nil
            {
                same += 1
            }
        }
        guard known > 0 else { return }
        state = same == sources.count ? .unchanged : .changed
    }
}

extension SourceError {
    fileprivate var state: SourceStatus.State {
        switch self {
        case .missing: .missing
        case .empty: .empty
        default: .unreadable
        }
    }
}

// For people and for programs.
extension SourceStatus {
    /// Returns lines for people: the time zone that days follow, then each source.
    public static func lines(_ statuses: [SourceStatus]) -> [String] {
        let zone = statuses.lazy.compactMap(\.timeZone).first
        return (zone.map { ["days follow \($0)"] } ?? []) + statuses.flatMap(\.lines)
    }

    /// Lines for people: the source, and below it its status.
    var lines: [String] {
        var words: String
        switch state {
        case .neverRead: words = "never read"
        case .unchanged: words = "read at \(readAt?.description ?? "?") and unchanged since"
        case .changed: words = "read at \(readAt?.description ?? "?"), changed since"
        case .missing: words = "missing"
        case .unreadable: words = "unreadable: \(problem ?? "?")"
        case .empty: words = kind == SourceEntry.Kind.spool.rawValue ? "no file waits" : "empty"
        case .waiting: words = "\(files) \(files == 1 ? "file waits" : "files wait")"
        }
        if state != .waiting, files > 1 { words = "\(files) files, \(words)" }
        if let rejected, rejected > 0 {
            words += ", \(rejected) \(rejected == 1 ? "was" : "were") rejected"
        }
        var lines = ["\(kind)  \(path)", "  \(words)"]
        if !counts.isEmpty {
            let ranked = counts.filter { $0.value > 0 }.ranked
            lines.append("  " + ranked.map { "\($0.name) \($0.count)" }.joined(separator: ", "))
        }
        return lines.map(\.forReport)
    }

    /// The values of the status by their names.
    public var facts: [String: JSON] {
        [
            "kind": .string(kind), "path": .string(path), "state": .string(state.rawValue),
            "problem": .text(problem), "read_at": .text(readAt), "files": .count(files),
            "rejected": rejected.map { .count($0) } ?? .null, "time_zone": .text(timeZone),
            "counts": .counts(counts),
        ]
    }
}
