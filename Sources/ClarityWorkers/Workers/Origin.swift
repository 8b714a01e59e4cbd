import ClarityJobs
import ClarityScheduler
import ClaritySystem

/// Where zones come from, and which is this machine's.
public struct SourceZones: Sendable {
    let zones: SystemZones
    /// The one on whose clock days are told apart where nobody says.
    var local: String

    /// Takes both as the environment (`TZ`, `TZDIR`) and the machine have them.
    public init(environment: [String: String]) {
        zones = SystemZones(environment: environment)
        local = LocalZone.identifier(environment: environment)
    }
}

/// One entry of the job file's `sources`: what is there, and how it is read.
struct Origin: Sendable {
    /// What sort of files it has; the raw value is the kind in the job file.
    enum Kind: String, CaseIterable, Sendable {
        case appleHealthExport = "apple-health-export"
        case healthAutoExport = "health-auto-export"
        case spool
    }

    var kind: Kind
    var path: String
    /// On whose clock days and nights are told apart.
    var zone: Zone
    /// The names of the sources that count first where several tell of the same time.
    var preferred: [String] = []
    /// The instant before which nothing is wanted.
    var since: Instant?
    /// The zones that records name.
    var zones: SystemZones

    /// The last part of the path.
    var name: String { Origin.name(of: path) }

    /// What is to be read, in its order: one file, or each of a folder.
    ///
    /// A folder that cannot be read is one source whose reading says so, since the others of the
    /// job file are read all the same.
    func sources(now: Instant) -> [any SampleSource] {
        do throws(SourceError) {
            switch kind {
            case .appleHealthExport: return [appleHealthFile(now: now)]
            case .healthAutoExport:
                return try HealthAutoExport.files(at: path).map { file in
                    AutoExportSource(
                        path: file, name: name, now: now, rules: rules, since: since)
                }
            case .spool:
                let folder = try SpoolFolder(path: path)
                return try folder.waiting().map { file in
                    SpoolSource(
                        folder: path, folderName: name, fileName: file, now: now, since: since)
                }
            }
        } catch {
            return [UnreadableSource(path: path, name: name, error: error)]
        }
    }

    static func name(of path: String) -> String {
        String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...])
    }

    private func appleHealthFile(now: Instant) -> AppleHealthFile {
        AppleHealthFile(path: path, now: now, since: since, rules: rules)
    }

    private var rules: FoldingRules {
        let zones = zones
        return FoldingRules(
            zone: zone, zoneNamed: { zones.zone(named: $0) }, preferred: preferred)
    }
}

extension WorkOptions {
    /// The entries of `sources`, in the order of the job file.
    func origins() throws(Failure) -> [Origin] {
        var origins: [Origin] = []
        while let name = option("sources.\(origins.count).kind") {
            guard let kind = Origin.Kind(rawValue: name) else {
                throw Failure(.configuration, "there is no source of the kind `\(name)`")
            }
            origins.append(try origin(kind, "sources.\(origins.count)"))
        }
        return origins
    }

    /// Tells days apart by the clock that they were first told apart by, where an entry names no zone;
    /// the first reading keeps this machine's.
    mutating func settleZone(_ store: HealthStore) throws {
        var index = 0
        var isAsked = false
        while option("sources.\(index).path") != nil {
            if option("sources.\(index).time_zone") == nil { isAsked = true }
            index += 1
        }
        guard isAsked else { return }
        if let kept = try store.dayZone() {
            zones.local = kept
        } else if zones.zones.zone(named: zones.local) != nil {
            zones.local = try store.keepDayZone(zones.local)
        }
    }

    /// What is to be read now, in the order of the job file.
    func sources(now: Instant) throws(Failure) -> [any SampleSource] {
        try origins().flatMap { $0.sources(now: now) }
    }

    /// The entry whose options begin with `prefix`, read as one of `kind`.
    func origin(_ kind: Origin.Kind, _ prefix: String) throws(Failure) -> Origin {
        let name = option("\(prefix).time_zone") ?? zones.local
        guard let zone = zones.zones.zone(named: name) else {
            throw Failure(.configuration, "`\(name)` is no time zone that this machine knows")
        }
        return Origin(
            kind: kind, path: PlainPath.of(try text("\(prefix).path")), zone: zone,
            preferred: option("\(prefix).prefer")?.split(separator: "\n").map(String.init) ?? [],
            since: try since("\(prefix).since", in: zone), zones: zones.zones)
    }

    /// An instant, or the beginning of a date in a zone.
    private func since(_ key: String, in zone: Zone) throws(Failure) -> Instant? {
        guard let text = option(key) else { return nil }
        if let instant = Instant(rfc3339: text) { return instant }
        guard let midnight = Instant(rfc3339: "\(text)T00:00:00Z") else {
            throw Failure(.configuration, "`\(key)` is neither a date nor an instant")
        }
        return zone.first(CivilTime(midnight.millisecondsSince1970))
    }
}

extension FoldingRules {
    /// What tells these rules from others: a file is read again under other ones. To be kept sealed,
    /// since it names a place and devices.
    var text: String {
        ([zone.identifier] + preferred).joined(separator: "\n")
    }
}

/// A folder that cannot be listed, as a source that cannot be read.
private struct UnreadableSource: SampleSource {
    let path: String
    let name: String
    let error: SourceError

    var file: String { path }
    var reader: String { "none" }
    var since: Instant? { nil }

    func read(
        progress: ((SourceProgress) throws -> Void)?,
        _ each: (Sample, SampleNature) throws -> Void
    ) throws -> SourceReport { throw error }
}

/// A file of Health Auto Export as a source.
private struct AutoExportSource: SampleSource {
    let path: String
    let name: String
    let now: Instant
    let rules: FoldingRules
    let since: Instant?

    var file: String { path }
    var reader: String { "health-auto-export \(programVersion) \(rules.text)" }

    func read(
        progress: ((SourceProgress) throws -> Void)?,
        _ each: (Sample, SampleNature) throws -> Void
    ) throws -> SourceReport {
        try HealthAutoExport(path: path, now: now, rules: rules).read(progress: progress, each)
    }
}
