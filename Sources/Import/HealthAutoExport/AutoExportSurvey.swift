import ClarityScheduler
import JSON

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
