import HealthModel
import ClarityScheduler
import JSON

// Unoptimised builds round with a function of the C library.
import HealthModel
import ClarityScheduler
import Platform
import Glibc
import JSON

/// Makes a sample from a point of Health Auto Export, or says why it is none.
struct AutoExportPoint {
    /// The content of a point.
    enum Content: Hashable {
        case sample(Sample, SampleNature)
        /// A stage of a night, which is not a sample of its own.
        case stage(SleepStage, start: Instant, end: Instant)
    }

    let metric: AutoExportMetric
    let now: Instant
    /// The zone whose clock applies to a date without an offset.
    let zone: Zone
    /// When the file was written.
    let writtenAt: Instant

    private var aggregate: SampleNature { .aggregate(asOf: min(writtenAt, now)) }

    /// Reads one point of the metric, which must have a field.
    ///
    /// A point is an aggregate, which a later file's point of the same time replaces, because the
    /// app sums or averages over a minute, an hour or a day. Some are measurements, which no other
    /// one replaces, unless they cover a whole day: a blood pressure, what is a reading by its row of
    /// the kinds, and what has the same minimum and maximum, unless it is that of an hour.
    func read(_ point: JSON) throws(RecordRefusal) -> Content {
        guard case .object = point else { throw .noPoint }
        switch metric.field {
        case .quantity(let kind):
            let interval = try interval(point)
            let (value, isReading) = try quantity(point, kind)
            return .sample(
                sample(point, kind, interval, .single(value)),
                isReading && !metric.isDaily ? .measurement : aggregate)
        case .pressure:
            let interval = try interval(point)
            let value = Sample.Value.pressure(
                systolic: try pressure(point, "systolic"),
                diastolic: try pressure(point, "diastolic"))
            return .sample(
                sample(point, .bloodPressure, interval, value),
                metric.isDaily ? aggregate : .measurement)
        case .sleep:
            // A stage has its own interval and its name as the value.
            if case .string(let word)? = point["value"], point["startDate"] != nil {
                return try stage(point, word)
            }
            return .sample(try night(point), aggregate)
        case nil: throw .noValue
        }
    }

    /// Reads a point like `read`, without throwing.
    func outcome(of point: JSON) -> Result<Content, RecordRefusal> {
        Result { () throws(RecordRefusal) in try read(point) }
    }

    private func sample(
        _ point: JSON, _ kind: SampleKind, _ interval: (start: Instant, end: Instant),
        _ value: Sample.Value
    ) -> Sample {
        Sample(
            kind: kind, start: interval.start, end: interval.end, value: value,
            source: AutoExportPoint.source(point))
    }

    /// Returns the name of the source, which is a text, an object with a `name`, or missing.
    static func source(_ point: JSON) -> String? {
        switch point["source"] {
        case .string(let name): cut(name)
        case .object?:
            if case .string(let name)? = point["source"]?["name"] { cut(name) } else { nil }
        default: nil
        }
    }

    fileprivate static func cut(_ name: String) -> String? {
        name.isEmpty ? nil : String(name.prefix(120)).withoutControls
    }

    // MARK: Time

    /// Returns the time that a point covers, which must be over.
    private func interval(
        _ point: JSON
    ) throws(RecordRefusal) -> (start: Instant, end: Instant) {
        let interval = try bounds(point)
        // More may come for a day that is not over; it is accepted once the file is read after its
        // end.
        guard interval.end <= now else { throw .inFuture }
        return interval
    }

    /// Returns the time that a point says it covers, else the day from its start for daily data and
    /// for a date without a time, else what a point of the metric covers. An average of less than a
    /// day is an instant.
    private func bounds(
        _ point: JSON
    ) throws(RecordRefusal) -> (start: Instant, end: Instant) {
        var isSum = false
        if case .quantity(let kind) = metric.field {
            isSum = DayQuantity(kind)?.hasNoSum == false
        }
        if let span = AutoExportPoint.span(of: point, zone) {
            let isDay = span.end - span.start >= .seconds(43_200)
            return (span.start, isSum || isDay ? span.end : span.start)
        }
        let date = try date(point, "date")
        if metric.isDaily || date.isDay { return (date.instant, zone.endOfDay(from: date)) }
        let seconds = isSum ? metric.grouping.length.seconds : 0
        return (date.instant, date.instant + .seconds(seconds))
    }

    /// Returns the time that a point of a quantity names by its start and its end; `nil` if it does
    /// not name both.
    static func span(of point: JSON, _ zone: Zone) -> (start: Instant, end: Instant)? {
        guard point["start"] != nil, point["end"] != nil,
            let start = AutoExportDate(point["start"] ?? .null, zone: zone)?.instant,
            let end = AutoExportDate(point["end"] ?? .null, zone: zone)?.instant, start <= end
        else { return nil }
        return (start, end)
    }

    /// Returns when an element of any kind was; `nil` if it does not say so.
    static func interval(of element: JSON, _ zone: Zone) -> (start: Instant, end: Instant)? {
        func first(_ names: [String]) -> Instant? {
            names.lazy.compactMap {
                element[$0].flatMap { AutoExportDate($0, zone: zone)?.instant }
            }
            .first
        }
        guard let start = first(["start", "startDate", "date", "sleepStart", "scheduledDate"])
        else { return nil }
        return (start, max(first(["end", "endDate", "sleepEnd"]) ?? start, start))
    }

    /// Returns when the time that a point covers is over; `nil` without a date.
    func end(of point: JSON) -> Instant? {
        for key in ["sleepEnd", "endDate"] {
            guard let json = point[key], let date = AutoExportDate(json, zone: zone) else {
                continue
            }
            return date.instant
        }
        do throws(RecordRefusal) { return try bounds(point).end } catch { return nil }
    }

    private func date(_ point: JSON, _ key: String) throws(RecordRefusal) -> AutoExportDate {
        switch point[key] {
        case nil, .null, .string(""): throw .noDate
        case let json?:
            guard let date = AutoExportDate(json, zone: zone) else { throw .badDate }
            return date
        }
    }

    // MARK: Values

    /// Returns the value in the kind's unit, and whether it is a single reading.
    private func quantity(
        _ point: JSON, _ kind: SampleKind
    ) throws(RecordRefusal) -> (value: Double, isReading: Bool) {
        var isReading = kind.facts.isReading
        let number: Double
        if let average = try self.number(point, "Avg") {
            number = average
            let (least, greatest) = (try self.number(point, "Min"), try self.number(point, "Max"))
            isReading = least != nil && least == greatest && metric.grouping.length != .hour
        } else if let quantity = try self.number(point, "qty") {
            number = quantity
        } else {
            throw .noValue
        }
        return (try converted(number, kind), isReading)
    }

    private func converted(_ number: Double, _ kind: SampleKind) throws(RecordRefusal) -> Double {
        guard number >= 0 else { throw .negativeValue }
        guard !metric.unit.isEmpty else { throw .noUnit }
        guard let conversion = metric.conversion(to: kind) else { throw .unknownUnit }
        let value = conversion(number) + 0
        guard value.isFinite, value >= 0 else { throw .badValue }
        return value
    }

    private func pressure(_ point: JSON, _ key: String) throws(RecordRefusal) -> Int {
        guard let number = try number(point, key) else { throw .noValue }
        let value = try converted(number, .bloodPressure).rounded()
        guard value < 1e6 else { throw .badValue }
        return Int(value)
    }

    /// Returns a number; `nil` if there is none. The app capitalises the keys of heart rates.
    private func number(_ point: JSON, _ key: String) throws(RecordRefusal) -> Double? {
        switch point[key] ?? point[key.lowercased()] {
        case .integer(let number): return Double(number)
        case .number(let number): return number
        case nil, .null: return nil
        default: throw .badValue
        }
    }

    // MARK: Nights

    private func stage(_ point: JSON, _ word: String) throws(RecordRefusal) -> Content {
        let start = try date(point, "startDate").instant
        let end = try date(point, "endDate").instant
        guard start <= end else { throw .endBeforeStart }
        guard end <= now else { throw .inFuture }
        return .stage(
            SleepStage(autoExportValue: word) ?? .unknown, start: start, end: end)
    }

    /// Reads a night in the aggregated form, whose durations are in hours.
    ///
    /// Since version 7, `totalSleep` is all of the sleep, and `asleep` the part without a stage;
    /// before, `asleep` was all of it. If a band reports no stages, all of them are 0 and the sleep
    /// counts as light.
    private func night(_ point: JSON) throws(RecordRefusal) -> Sample {
        let start = try date(point, "sleepStart").instant
        let end = try date(point, "sleepEnd").instant
        guard start < end else { throw .endBeforeStart }
        guard end <= now else { throw .inFuture }
        func minutes(_ key: String) throws(RecordRefusal) -> Double {
            let hours = try number(point, key) ?? 0
            guard hours >= 0 else { throw .negativeValue }
            guard hours <= 48 else { throw .badValue }
            return hours * 60
        }
        let (core, deep, rem) = (try minutes("core"), try minutes("deep"), try minutes("rem"))
        let (asleep, awake) = (try minutes("asleep"), try minutes("awake"))
        let staged = core + deep + rem
        var total = try minutes("totalSleep")
        if total == 0 { total = max(asleep, staged) }
        let span = Double((end - start).milliseconds) / 60_000
        guard total > 0 else { throw .noValue }
        // Allow half an hour for the app's rounding; more sleep than night is not a night.
        guard total <= span + 30, deep + rem <= total + 1 else { throw .badValue }
        var lying: Int?
        if point["inBedStart"] != nil,
            let bed = AutoExportDate(point["inBedStart"] ?? .null, zone: zone)
        {
            let wait = Double((start - bed.instant).milliseconds) / 60_000
            if (0...360).contains(wait) { lying = Int(wait.rounded()) }
        }
        let night = SleepNight(
            totalMinutes: Int(total.rounded()), efficiency: min(1, total / span),
            awakeMinutes: Int(awake.rounded()),
            lightMinutes: Int(max(0, total - deep - rem).rounded()),
            deepMinutes: Int(deep.rounded()), remMinutes: Int(rem.rounded()),
            minutesToSleep: lying)
        let names = ["source", "sleepSource", "inBedSource"].lazy.compactMap { key -> String? in
            if case .string(let name)? = point[key] { AutoExportPoint.cut(name) } else { nil }
        }
        return Sample(
            kind: .sleep, start: start, end: end, value: .sleep(night), source: names.first)
    }
}

/// Chooses one source where several have minutes of meditation for the same time. The sums of a day
/// are merged instead.
///
/// For other kinds, the values of all sources stay. A point that is not a sample rules out no
/// other.
struct SumChoice {
    private struct Span: Hashable {
        var start: Instant
        var end: Instant

        init(_ sample: Sample) { (start, end) = (sample.start, sample.end) }
    }

    private var names: AutoExportNames
    /// The position of each source in the ranking, the best first.
    private var order: [Int] = []
    /// The best source of each time; empty if there is only one source.
    private var best: [Span: Int] = [:]

    /// Finds the best source of each time among the points that follow.
    init(of points: JSONParser, _ reader: AutoExportPoint, preferred: [String]) {
        names = AutoExportNames(preferred: preferred)
        guard reader.metric.field == .quantity(.meditationMinutes) else { return }
        points.eachElement { _ = names.add(AutoExportPoint.source($0)) }
        guard names.sources.count > 1 else { return }
        order = SourceRank.order(of: names.sources)
        points.eachElement { point in
            guard case .success(.sample(let sample, _)) = reader.outcome(of: point) else { return }
            let (index, span) = (names.index(of: sample.source), Span(sample))
            if let known = best[span], order[known] <= order[index] { return }
            best[span] = index
        }
    }

    /// Whether a sample of the metric counts.
    func takes(_ sample: Sample) -> Bool {
        guard let chosen = best[Span(sample)] else { return true }
        return chosen == names.index(of: sample.source)
    }
}

extension JSONParser {
    /// Calls `body` for each element of the list that follows, up to where it is not JSON. That
    /// fault is found again, and reported, when the points are read.
    func eachElement(_ body: (JSON) -> Void) {
        var cursor = self
        do throws(JSONFault) {
            try cursor.enter("[")
            while try cursor.nextElement() {
                if case .success(let point) = try cursor.piece() { body(point) }
            }
        } catch {}
    }
}
