public import HealthStore
public import HealthModel
public import ClarityScheduler
import JSON

// Electrocardiograms: which there are, and the curve of one.
extension HealthReader {
    /// Returns the electrocardiograms that begin on days, the newest first, without their curves.
    ///
    /// - Parameters:
    ///   - since: the first day; `nil` for the first one there is.
    ///   - until: the last day; `nil` for the last one there is.
    public func electrocardiograms(
        since: Since?, until: CivilDay?
    ) throws(HealthStoreError) -> HealthReport {
        var local = LocalDays(zone: zone)
        let last = until?.daysSince1970 ?? local.day(at: now.secondsSince1970).number
        let start = since.map { local.day($0.first(upTo: last)).start } ?? Int64.min
        return try electrocardiograms(in: start..<local.day(last).end, withCurve: false)
    }

    /// Returns the electrocardiograms that begin within the second of an instant, with their curves;
    /// `nil` if none does.
    public func electrocardiogram(
        at instant: Instant
    ) throws(HealthStoreError) -> HealthReport? {
        let start = instant.secondsSince1970
        let report = try electrocardiograms(in: start..<(start + 1), withCurve: true)
        return report.records.isEmpty ? nil : report
    }

    private func electrocardiograms(
        in span: Range<Int64>, withCurve: Bool
    ) throws(HealthStoreError) -> HealthReport {
        var report = HealthReport()
        var found: [Electrocardiogram] = []
        for type in try store.archive.types() where Electrocardiogram.types.contains(type.name) {
            // A month at a time: each one has a curve of some 100 kB.
            for month in type.months {
                var rows: [RecordRow] = []
                guard try read(type.only(month), by: .raw, in: span, &rows, &report) else {
                    continue
                }
                found += rows.map { Electrocardiogram($0, zone, withCurve: withCurve) }
            }
        }
        found.sort { ($0.start, $0.end) > ($1.start, $1.end) }
        if !found.isEmpty { report.counts["electrocardiograms"] = Int64(found.count) }
        report.list(
            found, Electrocardiogram.report, style, absence: "no electrocardiogram is kept")
        report.page =
            ElectrocardiogramsResult(
                timeZone: zone.identifier, damaged: report.damaged.count, rows: report.records
            ).json
        return report
    }
}

/// An electrocardiogram of the archive: from a file of an export, or a push of Health Auto Export.
package struct Electrocardiogram: Reported, PrivateValue {
    fileprivate static let types: Set<String> = [KeptFile.electrocardiogram, "ecg"]

    fileprivate let start: Int64
    fileprivate let end: Int64
    private let zone: Zone
    private let classification: String?
    private let symptoms: String?
    /// Beats a minute, on average.
    private let heartRate: Double?
    private let lead: String?
    private let source: String?
    private let unit: String?
    /// Samples a second.
    private let rate: Double?
    private let count: Int
    /// The samples in `unit`; `nil` if nobody asks for them.
    private let curve: [Double]?

    fileprivate init(_ row: RecordRow, _ zone: Zone, withCurve: Bool) {
        func text(_ names: String...) -> String? {
            for name in names {
                if let text = row.metadata?[name]?.text, !text.isEmpty { return text }
            }
            return nil
        }
        let recorded = RecordedCurve(of: row.type.name) { row.metadata?[$0]?.text }
        (self.zone, start, source) = (zone, row.at, row.source)
        classification = row.value ?? text("classification")
        symptoms = text("Symptoms", "symptoms")
        heartRate = text("averageHeartRate").flatMap(Double.init)
        lead = text("Lead")
        rate = recorded?.rate
        unit = recorded.map { $0.unit ?? row.sum.unit ?? "" }
        let numbers = recorded?.numbers.split(separator: " ") ?? []
        count = numbers.count
        // A file says when it begins and how many samples a second it has.
        let length = rate.map { Double(numbers.count) / $0 } ?? 0
        end = max(row.end, row.at + Int64(length.rounded(.up)))
        curve = withCurve ? numbers.compactMap { Double($0) } : nil
    }

    private var seconds: Double? { rate.map { Double(count) / $0 } }

    package static let report = Report<Electrocardiogram>([
        Column("start", "when it begins") { Instant(secondsSince1970: $0.start) }
            .shown("BEGUN") {
                LocalDates(zone: $0.zone).fullMoment(Instant(secondsSince1970: $0.start))
            }.csv(),
        Column("end", "when it ends") { Instant(secondsSince1970: $0.end) }.csv(),
        Column("classification", "what the watch found, in the words of its source") {
            $0.classification
        }.shown("CLASSIFICATION") { DisplayText.line($0.classification ?? "-") }.csv(),
        Column("heart_rate", "mean heart rate in beats a minute, if the source says it") {
            $0.heartRate.map { RoundedNumber($0) }
        }.shown("HEART RATE", isNumber: true).csv(),
        Column("symptoms", "the symptoms that the person named") { $0.symptoms }
            .shown("SYMPTOMS") { DisplayText.line($0.symptoms ?? "-") }.csv(),
        Column("seconds", "its length") { $0.seconds.map { RoundedNumber($0) } }.csv(),
        Column("lead", "the lead") { $0.lead }.csv(),
        Column("source", "its source") { $0.source }.csv(),
        Column("samples", "number of samples of the curve") { $0.count }
            .shown("SAMPLES", isNumber: true).csv(),
        Column("hertz", "samples a second") { $0.rate.map { RoundedNumber($0) } }.csv(),
        Column("unit", "the unit of the samples") { $0.unit }.csv(),
        Column("curve", "the samples; only of one that was asked for by its beginning") {
            $0.curve
        },
    ])
}

/// The result of `ecgs`.
package struct ElectrocardiogramsResult: Reported, PrivateValue {
    let timeZone: String
    let damaged: Int
    let rows: [JSON]

    package static let report = Report<ElectrocardiogramsResult>([
        Column("time_zone", "the time zone of days") { $0.timeZone },
        Column("damaged", "number of months with damaged records, which are left out") {
            $0.damaged
        },
        Column("rows", "the electrocardiograms", as: { .list(Electrocardiogram.valueType) }) {
            .array($0.rows)
        },
    ])
}
