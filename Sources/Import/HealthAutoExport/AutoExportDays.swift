import HealthModel
import ClarityScheduler
import JSON

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

/// What the dates of a metric's points in a file show: how much time a point covers.
struct AutoExportGrouping: Hashable {
    /// The time that a point covers.
    enum Length: Int, Comparable {
        case instant, minute, hour, day

        static func < (a: Length, b: Length) -> Bool { a.rawValue < b.rawValue }

        /// The seconds of a sum that is no day.
        var seconds: Int64 {
            switch self {
            case .hour: 3600
            case .minute: 60
            case .instant, .day: 0
            }
        }
    }

    var length = Length.instant
    /// Whether all points have one and the same time. Such a point may be shorter than it seems:
    /// the first hour of a day begins at midnight, too.
    var isLone = false
    /// The first of the dates; `nil` without any.
    var first: AutoExportDate?
    /// The times that have several points. Elsewhere `source` has all names that contributed, and
    /// does not tell one point from another.
    var shared: Set<Int64> = []
}

/// Looks through a file for the dates of its points, before any of them is read.
///
/// The points of a metric are days if each begins one, hours if all are at full hours, and minutes
/// if all are at full minutes. Of a point without others, the sums of the file show more: all
/// metrics of a push are grouped alike.
struct AutoExportSurvey {
    private let zone: Zone
    private var metrics: [String: MetricDates] = [:]
    /// The shortest time that a point of a sum covers.
    private var shortest = AutoExportGrouping.Length.day

    /// - Parameter text: the parser at the beginning of the file. Where the text breaks off, the
    ///   survey ends; the reading reports that.
    init(_ text: JSONParser, _ zone: Zone) {
        self.zone = zone
        var cursor = text
        do throws(JSONFault) {
            try cursor.enter("{")
            while let name = try cursor.nextName() {
                if name == "data", cursor.next == UInt8(ascii: "{") {
                    try data(&cursor)
                } else {
                    try cursor.skip()
                }
            }
        } catch {}
        for (name, dates) in metrics {
            let metric = AutoExportMetric(name: name, unit: "")
            guard case .quantity(let kind) = metric.field, let quantity = DayQuantity(kind),
                !quantity.hasNoSum
            else { continue }
            shortest = min(shortest, dates.length)
        }
    }

    /// Returns what the dates of a metric show.
    func grouping(of name: String) -> AutoExportGrouping {
        guard var found = metrics[name]?.grouping else { return AutoExportGrouping() }
        if found.isLone { found.length = min(found.length, shortest) }
        return found
    }

    private mutating func data(_ cursor: inout JSONParser) throws(JSONFault) {
        try cursor.enter("{")
        while let section = try cursor.nextName() {
            guard section == "metrics", cursor.next == UInt8(ascii: "[") else {
                try cursor.skip()
                continue
            }
            try cursor.enter("[")
            while try cursor.nextElement() { try metric(&cursor) }
        }
    }

    private mutating func metric(_ cursor: inout JSONParser) throws(JSONFault) {
        guard cursor.next == UInt8(ascii: "{") else { return try cursor.skip() }
        var name: String?
        var points: JSONParser?
        try cursor.enter("{")
        while let key = try cursor.nextName() {
            if key == "name", case .success(.string(let text)) = try cursor.piece() {
                name = text
            } else if key == "data", cursor.next == UInt8(ascii: "[") {
                points = cursor
                try cursor.skip()
            } else if key != "name" {
                try cursor.skip()
            }
        }
        guard let name, let points, AutoExportMetric(name: name, unit: "").field != nil else {
            return
        }
        var dates = metrics[name] ?? MetricDates()
        points.eachElement { point in
            if let span = AutoExportPoint.span(of: point, zone) {
                dates.add(span.start.secondsSince1970, span.end.secondsSince1970)
            } else if let date = AutoExportDate(point["date"] ?? .null, zone: zone) {
                dates.add(date)
            }
        }
        metrics[name] = dates
    }
}

/// The dates of one metric.
private struct MetricDates {
    private var times: Set<Int64> = []
    private var starts: Set<Int64> = []
    private var shared: Set<Int64> = []
    private var first: AutoExportDate?
    private var last: AutoExportDate?
    private var ofHour: Int64?
    private var areDays = true
    private var areHours = true
    private var areMinutes = true
    private var hasDateAlone = false

    /// Adds the date of a point that does not say when it ends.
    mutating func add(_ date: AutoExportDate) {
        let seconds = date.instant.secondsSince1970
        if !times.insert(seconds).inserted { shared.insert(seconds) }
        areDays = areDays && (date.isMidnight || isDayOfOtherZone(date))
        // Full hours of some zones are half or quarter hours in UTC.
        ofHour = ofHour ?? seconds % 3600
        areHours = areHours && ofHour == seconds % 3600 && seconds.isMultiple(of: 900)
        areMinutes = areMinutes && seconds.isMultiple(of: 60)
        hasDateAlone = hasDateAlone || date.isDay
        first = first ?? date
        last = date
    }

    /// Adds the start and the end of a point that says both.
    mutating func add(_ start: Int64, _ end: Int64) {
        if !starts.insert(start).inserted { shared.insert(start) }
        let length = end - start
        areDays = areDays && length >= 43_200
        areHours = areHours && length >= 3600
        areMinutes = areMinutes && length >= 60
    }

    /// Whether a day begins at 01:00 because the clock was put forward at midnight, in a zone that
    /// is known from the offset of the day before alone.
    private func isDayOfOtherZone(_ date: AutoExportDate) -> Bool {
        guard let last, last.isMidnight, last.clock < date.clock else { return false }
        return date.clock % 86_400 == 3600 && date.offset == last.offset + 3600
    }

    var length: AutoExportGrouping.Length {
        if areDays { return .day }
        if areHours, times.count > 1 || (first?.clock ?? 0) % 3600 == 0 { return .hour }
        return areMinutes ? .minute : .instant
    }

    var grouping: AutoExportGrouping {
        AutoExportGrouping(
            length: length, isLone: times.count == 1 && !hasDateAlone, first: first,
            shared: shared)
    }
}
