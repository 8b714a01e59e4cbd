public import HealthStore
public import ClarityScheduler
import Platform
public import JSON

/// An entry of the job file's `sources`: where it is, and how to read it.
package struct SourceEntry: Sendable {
    package typealias Kind = SourceOptions.Kind

    package var kind: Kind
    package var path: String
    /// Where links in the path are followed.
    var links = SourcePlace.Links.followed
    /// The time zone that its days follow.
    var zone: Zone
    /// Why the entry is not read; `nil` if it is.
    var refusal: SourceError?
    /// The names of the sources to prefer if several cover the same time.
    var preferred: [String] = []
    /// The earliest start of a wanted sample; `nil` means any.
    var since: Instant?
    /// The zones that records can name.
    var zones: SystemZones
    /// Whether each file is deleted once all of it is in the outbox.
    var isDeletedWhenRead = false

    package var place: SourcePlace { SourcePlace(path, links) }

    /// The last component of the path.
    var name: String { SourceEntry.name(of: path) }

    /// Returns what to read, in order: one file, or each file of a folder.
    ///
    /// A folder that cannot be read becomes a source whose reading fails, so that the other entries
    /// of the job file are still read.
    func sources(now: Instant) -> [any SampleSource] {
        do throws(SourceError) {
            if let refusal { throw refusal }
            switch kind {
            case .appleHealthExport:
                var export = AppleHealthExport(path: path, now: now, rules: rules, since: since)
                export.links = links
                return [export]
            case .healthAutoExport:
                return try HealthAutoExport.files(at: place).map { file in
                    HealthAutoExport(
                        path: file.path, now: now, rules: rules, folder: path, since: since,
                        isDeletedWhenRead: isDeletedWhenRead, links: file.links)
                }
            case .spool:
                let folder = try SpoolFolder(place)
                return try folder.waiting().map { file in
                    SpoolSource(
                        folder: place, folderName: name, fileName: file, now: now, since: since)
                }
            }
        } catch {
            return [UnreadableSource(path: path, error: error)]
        }
    }

    static func name(of path: String) -> String {
        String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...])
    }

    private var rules: AggregationRules {
        let zones = zones
        return AggregationRules(
            zone: zone, zoneNamed: { zones.zone(named: $0) }, preferred: preferred)
    }
}

/// The sources of an order, in the time zones of its account.
package struct SourceSettings: Sendable {
    private let entries: [SourceOptions]
    /// What `import` reads; `nil` for other orders.
    let imported: ImportOptions?
    package var zones: SourceZones

    /// Reads the sources of an order.
    ///
    /// - Parameter zones: the time zones that sources can name.
    package init(_ order: AttemptOrder, zones: SourceZones) throws(Failure) {
        let sections = SectionValues(order.options)
        entries = try sections.sources
        imported = try sections.read()
        self.zones = zones
    }

    /// The entries of `sources`, in the order of the job file.
    package func sourceEntries() throws(Failure) -> [SourceEntry] {
        var found: [SourceEntry] = []
        for options in entries { found.append(try entry(options, "sources.\(found.count)")) }
        return found
    }

    /// Settles the time zone that the days of the account follow, if none is settled yet.
    ///
    /// - Parameter isChange: whether the time zone of what is imported replaces the settled one.
    package mutating func settleZone(_ store: HealthStore, isChange: Bool = false) throws {
        if isChange, let name = imported?.timeZone { try store.outbox.changeDayZone(to: name) }
        let kept = try store.outbox.dayZone()
        var settled = kept?.isSettled == true ? kept?.name : nil
        if settled == nil {
            let choice = DayZoneChoice(
                named: namedZones, noted: kept?.name, local: zones.local,
                days: try store.outbox.wholeDays())
            let found = try choice.zone { zones.zones.zone(named: $0) }
            if let found { settled = try store.outbox.settleDayZone(found) }
        }
        if let settled { (zones.local, zones.settled) = (settled, settled) }
    }

    /// The time zones that the job file's sources name, then that of what is imported.
    private var namedZones: [String] {
        (entries.map(\.timeZone) + [imported?.timeZone]).compactMap(\.self)
    }

    /// Returns the sources to read now, in the order of the job file.
    package func sources(now: Instant) throws(Failure) -> [any SampleSource] {
        try sourceEntries().flatMap { $0.sources(now: now) }
    }

    /// Returns the entry with these options, which messages call `name`.
    func entry(_ options: SourceOptions, _ name: String) throws(Failure) -> SourceEntry {
        let zoneName = options.timeZone ?? zones.local
        guard let zone = zones.zones.zone(named: zoneName) else {
            throw Failure(
                .configuration, "`\(zoneName)` is no time zone that this machine knows")
        }
        let path = PlainPath.of(options.path)
        return SourceEntry(
            kind: options.kind, path: path,
            links: options.root.map { .refusedInAccount(below: $0) } ?? .followed,
            zone: zone, refusal: refusal(of: zone, at: path),
            preferred: options.preferred?.split(separator: "\n").map(String.init) ?? [],
            since: try since(options.since, name, in: zone), zones: zones.zones,
            isDeletedWhenRead: options.isDeletedWhenRead ?? false)
    }

    /// Returns why a source with this time zone is not read; `nil` if it is.
    private func refusal(of zone: Zone, at path: String) -> SourceError? {
        guard let settled = zones.settled, settled != zone.identifier,
            zones.zones.zone(named: settled)?.hasSameClock(as: zone) != true
        else { return nil }
        return .otherTimeZone(path: path, named: zone.identifier, settled: settled)
    }

    /// Returns an instant, or the start of a date in a zone; `nil` for `nil`.
    private func since(
        _ text: String?, _ name: String, in zone: Zone
    ) throws(Failure) -> Instant? {
        guard let text else { return nil }
        if let instant = Instant(rfc3339: text) { return instant }
        guard let midnight = Instant(rfc3339: "\(text)T00:00:00Z") else {
            throw Failure(.configuration, "`\(name).since` is neither a date nor an instant")
        }
        return zone.first(CivilTime(midnight.millisecondsSince1970))
    }
}

extension AggregationRules {
    /// A text that differs between different rules: a file is read again under other rules. It must
    /// be stored encrypted, because it names a place and devices.
    var text: String {
        ([zone.identifier] + preferred).joined(separator: "\n")
    }
}

/// A folder that cannot be listed, as a source whose reading fails.
private struct UnreadableSource: SampleSource {
    let path: String
    let error: SourceError

    var reader: String { "none" }
    var since: Instant? { nil }

    func read(progress: ProgressHandler?, _ each: SampleHandler) throws -> SourceReport {
        throw error
    }
}

/// Recognises the kind of a source by its contents.
enum SourceRecognition {
    /// - Throws: `SourceError` if the file cannot be opened, is empty, or is of no known kind.
    static func kind(at path: String) throws(SourceError) -> SourceEntry.Kind {
        let file = try OpenFile(path: path)
        if file.isFolder { return try kind(ofFolder: path) }
        try file.checkHasContents()
        guard let kind = kind(of: try file.head(ExportSignature.length)) else {
            throw .unknownKind(path: path)
        }
        return kind
    }

    /// Returns the kind by the first bytes of a file; `nil` if they fit none.
    static func kind(of head: [UInt8]) -> SourceEntry.Kind? {
        let isExport = head.withUnsafeBufferPointer {
            ExportSignature.isZip($0) || ExportSignature.isExport($0)
        }
        if isExport { return .appleHealthExport }
        if HealthAutoExport.isOne(head) { return .healthAutoExport }
        let text = head.starts(with: [0xEF, 0xBB, 0xBF]) ? head[3...] : head[...]
        switch text.first(where: { $0 > 0x20 }) {
        case UInt8(ascii: "{"), UInt8(ascii: "["): return .spool
        default: return nil
        }
    }

    /// Returns the kind of a folder. An XML file makes it an Apple Health export; else JSON files
    /// make it one of Health Auto Export.
    private static func kind(ofFolder path: String) throws(SourceError) -> SourceEntry.Kind {
        let names = try OpenFolder(SourcePlace(path)).names { !$0.hasPrefix(".") }.map {
            $0.lowercased()
        }
        if names.contains(where: { $0.hasSuffix(".xml") }) { return .appleHealthExport }
        if names.contains(where: { $0.hasSuffix(".json") }) { return .healthAutoExport }
        throw .unknownKind(path: path)
    }
}

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
