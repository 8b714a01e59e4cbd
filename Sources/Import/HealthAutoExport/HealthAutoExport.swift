import HealthModel
import ClarityScheduler
import JSON

/// Returns whether aggregates of a kind without a length are known in a span of time.
typealias InstantsLookup = @Sendable (SampleKind, Range<Instant>) throws -> Bool

/// A file of the app Health Auto Export: JSON with metrics, each with its points.
///
/// A file has at most 64 MiB and is read into memory; one point at a time becomes a value. What it
/// has beside metrics (workouts, states of mind, medications, symptoms and the like) is counted by
/// its name.
struct HealthAutoExport: Sendable {
    /// The most bytes of a file.
    static let largestFile = 64 << 20

    let path: String
    /// The instant after which nothing can have happened.
    let now: Instant
    /// The time zone of dates without an offset, and how nights are made from stages.
    let rules: AggregationRules
    /// The folder that the job file names, if the file is one of several in it.
    var folder: String?
    /// The earliest start of a wanted sample; `nil` means any.
    var since: Instant?
    /// Whether the job file wants the file deleted once all of it is in the outbox.
    var isDeletedWhenRead = false
    /// Where links in `path` are followed.
    var links = SourcePlace.Links.followed
    /// Whether shorter points of a day are known from other files.
    var knowsInstants: InstantsLookup = { _, _ in false }

    /// Passes on each point that is a sample, and returns the report of all points.
    ///
    /// A text that breaks off is not an error: everything read before counts, and
    /// `SourceReport.brokeAt` says where it broke off.
    ///
    /// - Throws: `SourceError` if there is nothing to read; the errors of `progress` and `each`.
    func read(progress: ProgressHandler? = nil, _ each: SampleHandler) throws -> SourceReport {
        let file = try RegularFile(try OpenFile(place))
        let bytes = try file.bytes(atMost: HealthAutoExport.largestFile)
        guard HealthAutoExport.isOne(bytes) else {
            throw SourceError.notAnAutoExport(path: path)
        }
        var reading = AutoExportReading(
            bytes, now: now, writtenAt: file.writtenAt, rules: rules,
            knowsInstants: knowsInstants, progress: progress)
        return try reading.run(each)
    }

    /// Returns `place` itself or, if it is a folder, its files whose names end in `.json`, in the
    /// order of their names. Names that begin with a dot are left out.
    static func files(at place: SourcePlace) throws(SourceError) -> [SourcePlace] {
        let folder: OpenFolder
        do throws(SourceError) {
            folder = try OpenFolder(place)
        } catch .notAFolder {
            return [place]
        }
        let names = try folder.names { $0.lowercased().hasSuffix(".json") && !$0.hasPrefix(".") }
        return names.map(place.inside)
    }

    /// Whether a text that begins with `head` is from this app: an object with an object `data`,
    /// which is not always its first member.
    static func isOne(_ head: some Sequence<UInt8>) -> Bool {
        var cursor = JSONParser(Array(head))
        do throws(JSONFault) {
            try cursor.enter("{")
            while let name = try cursor.nextName() {
                if name == "data", cursor.next == UInt8(ascii: "{") { return true }
                try cursor.skip()
            }
        } catch {
            // Another kind of text, or the end of `head`.
        }
        return false
    }
}

/// The facts about a metric of a file that are needed before its points are read.
struct AutoExportMetric {
    /// The form of a metric's points.
    enum Field: Hashable {
        /// A number in a unit.
        case quantity(SampleKind)
        /// A systolic and a diastolic pressure.
        case pressure
        /// A night, or a stage of one.
        case sleep
    }

    var name: String
    /// The unit in the file; empty if it has none.
    var unit: String
    /// What the dates of its points show.
    var grouping = AutoExportGrouping()

    /// Whether each point is a whole day.
    var isDaily: Bool { grouping.length == .day }

    /// `nil` for a metric that CLARITY has no field for.
    var field: Field? { AutoExportMetric.fields[name] }

    /// The fields by metric. Only one distance is accepted, the one on foot: two of the same time
    /// would replace each other.
    private static let fields: [String: Field] = {
        var fields: [String: Field] = [:]
        for kind in SampleKind.allCases {
            let field: Field =
                switch kind {
                case .bloodPressure: .pressure
                case .sleep: .sleep
                default: .quantity(kind)
                }
            for name in kind.facts.autoExport { fields[name] = field }
        }
        return fields
    }()

    /// Returns the conversion of the metric's unit, which sometimes differs from HealthKit's
    /// spelling.
    func conversion(to kind: SampleKind) -> UnitConversion? {
        UnitConversion(from: unit, to: kind)
            ?? AutoExportMetric.spellings[unit.lowercased()].flatMap {
                UnitConversion(from: $0, to: kind)
            }
    }

    private static let spellings = [
        "bpm": "count/min", "beats/min": "count/min", "breaths/min": "count/min",
        "brpm": "count/min", "steps": "count", "flights": "count", "°f": "degF", "ºf": "degF",
        "°c": "degC", "ºc": "degC", "mmol/l": "mmol<180.1558800000541>/L",
        "ml/(kg·min)": "mL/(kg·min)", "ml/kg/min": "mL/(kg·min)", "ml/min·kg": "mL/min·kg",
        "ml/kg·min": "mL/min·kg",
        "ml/(kg*min)": "mL/(kg*min)", "minutes": "min", "minute": "min", "hours": "hr",
        "hour": "hr", "h": "hr", "mmhg": "mmHg", "mg/dl": "mg/dL", "sec": "s",
    ]
}
