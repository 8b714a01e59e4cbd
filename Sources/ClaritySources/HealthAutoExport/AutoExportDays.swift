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

/// Collects the stages of sleep of a file that has them one by one, and makes nights from them as
/// from those of an Apple Health export.
struct AutoExportNights {
    /// The most sources that are distinguished; further ones count as one without a name.
    private static let mostSources = 512

    private let rules: FoldingRules
    private var folding: SleepFolding
    private var names: [String] = []
    private var places: [String: Int] = [:]

    init(_ rules: FoldingRules) {
        self.rules = rules
        folding = SleepFolding(zone: rules.zone)
    }

    mutating func add(
        _ stage: SleepStage, from start: Instant, to end: Instant, source: String?
    ) -> SleepFolding.Verdict {
        folding.add(
            stage, source: place(of: source ?? ""), start: start.secondsSince1970,
            end: end.secondsSince1970)
    }

    /// Passes on the nights that were over at `until`; with `nil`, none is known to be complete.
    mutating func finish(
        until: Instant?, _ each: (Sample, SampleNature) throws -> Void
    ) rethrows -> SleepFolding.Outcome {
        let (names, rules) = (names, rules)
        let order = SourceRank.order(names, sorts: [], preferred: rules.preferred)
        return try folding.resolve(order: order, until: until?.secondsSince1970 ?? .min) { night in
            let name = names[night.source]
            let sample = Sample(
                kind: .sleep, start: Instant(secondsSince1970: night.start),
                end: Instant(secondsSince1970: night.end), value: .sleep(night.sleep),
                source: name.isEmpty ? nil : name)
            // `until` is not `nil` here: without it, no night is over.
            try each(sample, .aggregate(asOf: until ?? sample.end))
        }
    }

    private mutating func place(of name: String) -> Int {
        let name = places[name] != nil || names.count < AutoExportNights.mostSources ? name : ""
        if let place = places[name] { return place }
        names.append(name)
        places[name] = names.count - 1
        return names.count - 1
    }
}

extension SleepStage {
    /// Reads the word in a point's `value`; `nil` for an unknown word, such as one in the language
    /// of another phone.
    init?(autoExportValue word: String) {
        switch word.lowercased().filter({ $0 != " " }) {
        case "inbed": self = .inBed
        case "asleep", "unspecified", "asleepunspecified": self = .asleep
        case "awake": self = .awake
        case "core", "asleepcore": self = .core
        case "rem", "asleeprem": self = .rem
        case "deep", "asleepdeep": self = .deep
        default: return nil
        }
    }
}
