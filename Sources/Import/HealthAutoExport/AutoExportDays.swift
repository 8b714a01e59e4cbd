import HealthModel
import ClarityScheduler

/// Collects the points of a file that are parts of a day.
///
/// They are totals that the app has made, so they rank behind the records of an export.
struct AutoExportDays {
    private var records = DayRecords()
    private var names: AutoExportNames

    init(preferred: [String]) { names = AutoExportNames(preferred: preferred, isTotal: true) }

    /// Adds a point; returns why it is not taken.
    ///
    /// - Parameter isLone: whether its metric has no other time in the file.
    mutating func add(
        _ sample: Sample, _ quantity: DayQuantity, isLone: Bool
    ) -> RecordRefusal? {
        guard case .single(let value) = sample.value else { return .badValue }
        return records.parts.add(
            value, quantity, source: names.add(sample.source, isLone: isLone),
            start: sample.start.secondsSince1970, end: sample.end.secondsSince1970)
    }

    /// Returns the records, or `nil` if there are none, and the number of exact copies among them.
    mutating func finish(asOf: Instant) -> (records: DayRecords?, copies: Int64) {
        let copies = records.parts.settle()
        records.sources = names.sources
        records.asOf = asOf.secondsSince1970
        return (records.parts.keys.isEmpty ? nil : records, copies)
    }
}

/// Collects the nights of a file, and makes nights of the stages of sleep that it has one by one,
/// as of those of an Apple Health export.
struct AutoExportNights {
    private var aggregation: SleepAggregation
    private var names: AutoExportNames

    init(_ rules: AggregationRules) {
        names = AutoExportNames(preferred: rules.preferred)
        aggregation = SleepAggregation(zone: rules.zone)
    }

    /// Adds a stage; returns why it is not taken.
    mutating func add(
        _ stage: SleepStage, from start: Instant, to end: Instant, source: String?
    ) -> RecordRefusal? {
        aggregation.add(
            stage, source: names.add(source), start: start.secondsSince1970,
            end: end.secondsSince1970)
    }

    /// Adds a night that the app has made; returns why it is not taken.
    mutating func add(_ night: SleepNight, of sample: Sample) -> RecordRefusal? {
        aggregation.add(
            night, source: names.add(sample.source), start: sample.start.secondsSince1970,
            end: sample.end.secondsSince1970)
    }

    /// Passes on the nights that were over at `asOf`. If the file is not whole, no night of stages
    /// is known to be complete.
    mutating func finish(
        isWhole: Bool, asOf: Instant, _ each: SampleHandler
    ) rethrows -> SleepAggregation.Outcome {
        let sources = names.sources
        let order = SourceRank.order(of: sources)
        let until = isWhole ? asOf.secondsSince1970 : .min
        return try aggregation.resolve(order: order, until: until) { night in
            try each(
                night.sample(ofSource: sources[night.source].name),
                .aggregate(asOf: asOf))
        }
    }
}

/// The sources of a file, each with an index.
struct AutoExportNames {
    /// The most sources that are distinguished; further ones count as one without a name.
    private static let most = 512

    private struct Key: Hashable {
        var name: String
        var isLone = false
    }

    private(set) var sources: [DaySource] = []
    private var indices: [Key: Int] = [:]
    private let preferred: [String]
    private let isTotal: Bool

    /// - Parameter isTotal: Whether the records of the sources are totals that an app has made.
    init(preferred: [String], isTotal: Bool = false) {
        self.preferred = preferred
        self.isTotal = isTotal
    }

    /// Returns the index of a source, which is new if the name was not added before.
    ///
    /// - Parameter isLone: as in `DaySource`.
    mutating func add(_ name: String?, isLone: Bool = false) -> Int {
        var key = Key(name: name ?? "", isLone: isLone)
        if indices[key] == nil, sources.count >= AutoExportNames.most { key.name = "" }
        if let index = indices[key] { return index }
        indices[key] = sources.count
        var source = DaySource(name: key.name, preferred: preferred, isTotal: isTotal)
        source.isLone = isLone
        sources.append(source)
        return sources.count - 1
    }

    /// Returns the index of a source that was added.
    func index(of name: String?) -> Int {
        indices[Key(name: name ?? "")] ?? indices[Key(name: "")] ?? 0
    }
}

extension SleepStage {
    /// Reads the word in a point's `value`; `nil` for an unknown word.
    ///
    /// The app writes the words of the phone's language. Those of other languages are the ones in
    /// the headings of its CSV files (`Schlafanalyse [Kern] (hr)`); docs/sources.md lists them.
    init?(autoExportValue word: String) {
        switch word.lowercased().filter({ $0 != " " }) {
        case "inbed", "imbett", "ベッドに入る": self = .inBed
        case "unspecified", "schlafend", "dormido", "睡眠中": self = .asleep
        case "awake", "wach", "清醒": self = .awake
        case "core", "asleepcore", "kern", "核心", "コア": self = .core
        case "rem", "asleeprem", "快速动眼期": self = .rem
        case "deep", "asleepdeep", "tief", "profundo", "深度", "深い": self = .deep
        case let word where word.hasPrefix("asleep"): self = .asleep
        default: return nil
        }
    }
}
