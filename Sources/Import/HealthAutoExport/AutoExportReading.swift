import HealthModel
import ClarityScheduler
import JSON

/// Reads the text of a file once, and counts what became of every point.
struct AutoExportReading {
    /// The most names of sections, metrics or sources that are distinguished.
    private static let mostNames = 512
    static let otherNames = "(other types)"
    /// The most bytes of an element without a field: half of a file. A workout of a day with a place
    /// and a heart rate for each second has some 30 MB.
    private static let largestElement = 32 << 20
    /// The number of points between two calls of `progress`.
    private static let stride: Int64 = 1024

    private var cursor: JSONParser
    private let now: Instant
    private let zone: Zone
    private let preferred: [String]
    private let total: Int64
    private let progress: ProgressHandler?
    private let writtenAt: Instant
    private let survey: AutoExportSurvey
    private let knowsInstants: InstantsLookup
    private var nights: AutoExportNights
    private var days: AutoExportDays
    private var archiving = ObjectArchiving()
    private var report = SourceReport()

    /// - Parameters:
    ///   - writtenAt: when the file was written; what was going on then is not over.
    ///   - knowsInstants: whether shorter points of a day are known from other files.
    init(
        _ bytes: [UInt8], now: Instant, writtenAt: Instant, rules: AggregationRules,
        knowsInstants: @escaping InstantsLookup = { _, _ in false },
        progress: ProgressHandler? = nil
    ) {
        cursor = JSONParser(bytes)
        survey = AutoExportSurvey(cursor, rules.zone)
        self.knowsInstants = knowsInstants
        total = Int64(bytes.count)
        self.now = now
        self.writtenAt = writtenAt
        zone = rules.zone
        preferred = rules.preferred
        days = AutoExportDays(preferred: rules.preferred)
        nights = AutoExportNights(rules)
        self.progress = progress
    }

    /// Reads to the end of the text, or to where it is not JSON.
    ///
    /// - Throws: the errors of `progress` and `each`, unchanged, and nothing else.
    mutating func run(_ each: SampleHandler) throws -> SourceReport {
        do {
            try cursor.enter("{")
            while let name = try cursor.nextName() {
                if name == "data", cursor.next == UInt8(ascii: "{") {
                    try sections(each)
                } else {
                    try cursor.skip()
                }
            }
            try cursor.end()
        } catch let fault as JSONFault {
            report.brokeAt = SourceBreak(byteOffset: Int64(fault.offset), reason: fault.reason)
        }
        // A text that breaks off may do so in the middle of a night.
        let asOf = min(writtenAt, now)
        let outcome = try nights.finish(isWhole: report.brokeAt == nil, asOf: asOf, each)
        if outcome.outranked > 0 {
            report.aggregated -= outcome.outranked
            report.refused[RecordRefusal.otherSource.rawValue, default: 0] += outcome.outranked
        }
        if outcome.made > 0 { report.made[.sleep, default: 0] += outcome.made }
        if outcome.unfinished > 0 { report.unfinished[.sleep] = outcome.unfinished }
        // The file's time lies ahead: a later reading knows more nights to be over.
        if writtenAt > now, report.brokeAt == nil, let due = outcome.dueAt {
            report.note(due: Instant(secondsSince1970: due))
        }
        let (records, copies) = days.finish(asOf: asOf)
        report.days = records
        report.aggregated -= copies
        report.repeated += copies
        report.nightsWithoutSleep = outcome.withoutSleep
        report.records = archiving.collector
        report.bytesRead = Int64(cursor.position)
        try tellProgress()
        return report
    }

    private mutating func sections(_ each: SampleHandler) throws {
        try cursor.enter("{")
        while let section = try cursor.nextName() {
            switch cursor.next {
            case UInt8(ascii: "[") where section == "metrics":
                try cursor.enter("[")
                while try cursor.nextElement() { try metric(each) }
            case UInt8(ascii: "["): try countElements(as: section)
            // A section with a single element.
            case UInt8(ascii: "{"): try countElement(as: section)
            default: try cursor.skip()
            }
        }
    }

    /// Reads one metric, whose points may come before its name and its unit.
    private mutating func metric(_ each: SampleHandler) throws {
        guard cursor.next == UInt8(ascii: "{") else {
            report.recordsRead += 1
            count(.noPoint)
            return try cursor.skip()
        }
        var (name, unit): (String?, String?)
        var points: JSONParser?
        try cursor.enter("{")
        while let key = try cursor.nextName() {
            switch key {
            case "name":
                if case .success(.string(let text)) = try cursor.piece() { name = text }
            case "units", "unit":
                if case .success(.string(let text)) = try cursor.piece() { unit = text }
            case "data" where cursor.next == UInt8(ascii: "["):
                if let name, let unit {
                    try self.points(name, unit, each)
                } else {
                    points = cursor
                    try cursor.skip()
                }
            default: try cursor.skip()
            }
        }
        guard let points else { return }
        let end = cursor
        cursor = points
        try self.points(name ?? AutoExportReading.otherNames, unit ?? "", each)
        cursor = end
    }

    private mutating func points(
        _ name: String, _ unit: String, _ each: SampleHandler
    ) throws {
        var metric = AutoExportMetric(name: name, unit: unit)
        guard metric.field != nil else { return try countElements(as: name, unit: unit) }
        metric.grouping = try grouping(of: metric)
        let reader = AutoExportPoint(
            metric: metric, now: now, zone: zone, writtenAt: writtenAt)
        let choice = SumChoice(of: cursor, reader, preferred: preferred)
        try cursor.enter("[")
        while try cursor.nextElement() {
            let piece = try cursor.piece()
            report.recordsRead += 1
            if report.recordsRead % AutoExportReading.stride == 0 { try tellProgress() }
            guard case .success(let point) = piece else {
                count(.noJSON)
                continue
            }
            if let source = AutoExportPoint.source(point) {
                report.bySource.add(
                    to: source, atMost: AutoExportReading.mostNames, else: "(other sources)")
            }
            let outcome = reader.outcome(of: point)
            if case .success(let content) = outcome { keep(point, content, name, unit) }
            switch outcome {
            case .success(.stage(let stage, let start, let end)):
                let source = AutoExportPoint.source(point)
                let refusal = nights.add(stage, from: start, to: end, source: source)
                aggregate(stage == .unknown ? refusal ?? .unknownStage : refusal)
            case .success(.sample(var sample, let nature)):
                if let quantity = DayQuantity(sample.kind) {
                    let isLone =
                        metric.grouping.isLone && AutoExportPoint.span(of: point, zone) == nil
                    let refusal = days.add(sample, quantity, isLone: isLone)
                    aggregate(refusal == .tooLong ? .badValue : refusal)
                    continue
                }
                if case .sleep(let night) = sample.value {
                    aggregate(nights.add(night, of: sample))
                    continue
                }
                guard choice.takes(sample) else {
                    count(.otherSource)
                    continue
                }
                // Of meditation, one source was chosen.
                sample.isOfAllSources =
                    nature.isAggregate
                    && (sample.kind == .meditationMinutes
                        || !metric.grouping.shared.contains(sample.start.secondsSince1970))
                report.count(sample, nature)
                try each(sample, nature)
            case .failure(let refusal):
                count(refusal)
                if refusal == .inFuture, let end = reader.end(of: point) { report.note(due: end) }
            }
        }
    }

    /// Keeps a point that is a sample or a part of one.
    private mutating func keep(
        _ point: JSON, _ content: AutoExportPoint.Content, _ name: String, _ unit: String
    ) {
        switch content {
        case .sample(let sample, _): keep(point, name, unit, (sample.start, sample.end))
        case .stage(_, let start, let end): keep(point, name, unit, (start, end))
        }
    }

    private mutating func keep(
        _ object: JSON, _ name: String, _ unit: String?, _ interval: (start: Instant, end: Instant)
    ) {
        archiving.add(
            object, type: name, start: interval.start, end: interval.end,
            source: AutoExportPoint.source(object), unit: unit, numberName: "qty",
            besides: ["source"])
    }

    /// Counts a part of a day or night as refused, or as taken.
    private mutating func aggregate(_ refusal: RecordRefusal?) {
        if let refusal { count(refusal) } else { report.aggregated += 1 }
    }

    /// Returns what the points of a metric cover. A single one at the beginning of a day is a whole
    /// day unless shorter ones of that day are known. Those of sums are compared when days are
    /// merged.
    private func grouping(of metric: AutoExportMetric) throws -> AutoExportGrouping {
        var grouping = survey.grouping(of: metric.name)
        guard grouping.isLone, grouping.length == .day, let first = grouping.first,
            case .quantity(let kind) = metric.field, DayQuantity(kind) == nil
        else { return grouping }
        if try knowsInstants(kind, first.instant..<zone.endOfDay(from: first)) {
            grouping.length = .hour
        }
        return grouping
    }

    /// Counts elements that CLARITY has no field for, and keeps those that say when they were.
    private mutating func countElements(
        as name: String, unit: String? = nil
    ) throws(JSONFault) {
        try cursor.enter("[")
        while try cursor.nextElement() { try countElement(as: name, unit: unit) }
    }

    private mutating func countElement(as name: String, unit: String? = nil) throws(JSONFault) {
        let start = cursor.position
        let piece = try cursor.piece(atMost: AutoExportReading.largestElement)
        report.recordsRead += 1
        guard case .success(let element) = piece, case .object = element else {
            let isLarge = cursor.position - start > AutoExportReading.largestElement
            return count(isLarge ? .tooLarge : .noPoint)
        }
        guard let interval = AutoExportPoint.interval(of: element, zone) else {
            return count(.noDate)
        }
        keep(element, name, unit, interval)
        report.unmapped.add(
            to: name.isPlainName() ? name : AutoExportReading.otherNames,
            atMost: AutoExportReading.mostNames, else: AutoExportReading.otherNames)
    }

    private mutating func count(_ refusal: RecordRefusal) {
        report.refused[refusal.rawValue, default: 0] += 1
    }

    private func tellProgress() throws {
        try progress?(
            SourceProgress(
                bytesRead: Int64(cursor.position), bytesTotal: total,
                recordsRead: report.recordsRead))
    }
}
