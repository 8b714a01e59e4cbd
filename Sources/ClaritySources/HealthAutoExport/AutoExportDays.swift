import ClarityJobs
import ClarityScheduler

/// Collects the points of a file that are parts of a day.
///
/// They are totals that the app has made, so they rank behind the records of an export.
struct AutoExportDays {
    /// The most sources that are distinguished; further ones count as one without a name.
    private static let mostSources = 512

    private let preferred: [String]
    private var records = DayRecords()
    private var places: [String: Int] = [:]

    init(preferred: [String]) { self.preferred = preferred }

    mutating func add(_ sample: Sample, _ quantity: DayQuantity) -> DayParts.Verdict {
        guard case .single(let value) = sample.value else { return .tooLarge }
        return records.parts.add(
            value, quantity, source: place(of: sample.source ?? ""),
            start: sample.start.secondsSince1970, end: sample.end.secondsSince1970)
    }

    /// Returns the records, or `nil` if there are none, and the number of exact copies among them.
    mutating func finish(asOf: Instant) -> (records: DayRecords?, copies: Int64) {
        let copies = records.parts.settle()
        records.asOf = asOf.secondsSince1970
        return (records.parts.keys.isEmpty ? nil : records, copies)
    }

    private mutating func place(of name: String) -> Int {
        let isKnown = places[name] != nil || places.count < AutoExportDays.mostSources
        let name = isKnown ? name : ""
        if let place = places[name] { return place }
        places[name] = records.sources.count
        records.sources.append(DaySource(name: name, preferred: preferred, isTotal: true))
        return records.sources.count - 1
    }
}
