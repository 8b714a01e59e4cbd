import HealthStore
import ClarityScheduler

/// A night, made of the single records of sleep. Instants are in seconds since 1970.
struct Night: Hashable {
    /// A stretch in one stage, such as `AsleepCore`.
    struct Part: Hashable {
        let stage: String
        let start: Int64
        let end: Int64
    }

    /// The day on which it ends, in days since 1970-01-01.
    let day: Int
    let start: Int64
    let end: Int64
    let parts: [Part]

    /// The minutes asleep.
    var asleep: Double {
        parts.reduce(0) { $0 + ($1.stage == "Awake" ? 0 : Double($1.end - $1.start) / 60) }
    }

    /// The stages that count as core sleep: that one, and sleep of which no stage is known.
    static let coreStages = ["AsleepCore", "Asleep", "AsleepUnspecified"]

    /// Returns the minutes in stages; `nil` if there are none.
    func minutes(_ stages: [String]) -> Double? {
        let seconds = parts.reduce(0) { $0 + (stages.contains($1.stage) ? $1.end - $1.start : 0) }
        return seconds == 0 ? nil : Double(seconds) / 60
    }
}

extension Night {
    /// A pause of more than 90 minutes ends a stretch of sleep.
    private static let pause: Int64 = 90 * 60

    private struct Record {
        let source: String
        let part: Part
    }

    /// Groups records of sleep to nights, the earliest first.
    ///
    /// Of several stretches that end on a day, the one with the most records is its night. Of several
    /// sources, the one that knows the most stages is shown. Time in bed makes no night.
    static func nights(of rows: [RecordRow], in zone: Zone) -> [Night] {
        var days = LocalDays(zone: zone)
        var byDay: [Int: Night] = [:]
        var stretch: [Record] = []
        var end = Int64.min
        func finish() {
            guard let night = night(of: stretch, &days) else { return }
            if byDay[night.day].map({ $0.parts.count < night.parts.count }) ?? true {
                byDay[night.day] = night
            }
            stretch = []
        }
        let records = rows.compactMap { row -> Record? in
            let stage = stage(of: row.value ?? "")
            guard stage != "InBed", row.end > row.at else { return nil }
            return Record(
                source: row.source ?? "", part: Part(stage: stage, start: row.at, end: row.end))
        }
        // Records of one instant keep their order, as the sources have it.
        let order = records.indices.sorted {
            (records[$0].part.start, $0) < (records[$1].part.start, $1)
        }
        for record in order.map({ records[$0] }) {
            if let first = stretch.first, record.part.start - max(end, first.part.end) > pause {
                finish()
            }
            end = stretch.isEmpty ? record.part.end : max(end, record.part.end)
            stretch.append(record)
        }
        finish()
        return byDay.values.sorted { $0.start < $1.start }
    }

    /// Returns a stage without what HealthKit puts in front of it, compared byte by byte: there are
    /// 80,000 in a decade.
    private static func stage(of written: String) -> String {
        let prefix = "HKCategoryValueSleepAnalysis"
        guard written.hasPrefix(prefix) else { return written }
        return String(decoding: written.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    }

    private static func night(of stretch: [Record], _ days: inout LocalDays) -> Night? {
        var stages: [String: Set<String>] = [:]
        // Most nights are of one source, and there is nothing to compare.
        let isMixed = stretch.contains { $0.source != stretch[0].source }
        let compared = isMixed ? stretch[...] : stretch.prefix(1)
        for record in compared { stages[record.source, default: []].insert(record.part.stage) }
        var best: String?
        for record in compared {
            let count = stages[record.source]?.count ?? 0
            if best.map({ count > stages[$0]?.count ?? 0 }) ?? true { best = record.source }
        }
        let parts = stretch.filter { $0.source == best }.map(\.part)
        guard let start = parts.first?.start, let end = parts.map(\.end).max() else { return nil }
        return Night(day: days.day(at: end).number, start: start, end: end, parts: parts)
    }
}

/// How regular nights are: the usual times in minutes from midnight, and within how many minutes of
/// them half of all nights begin and end.
struct Regularity: Hashable {
    struct Usual: Hashable {
        let at: Double
        let within: Double
    }

    let start: Usual
    let end: Usual

    /// Returns `nil` without nights.
    init?(_ nights: [Night], in zone: Zone) {
        func usual(_ instants: [Int64]) -> Usual? {
            // From -720 to 720: evening and morning are on both sides of midnight.
            let minutes = instants.map { instant -> Double in
                let clock = LocalDays.clock(at: instant, in: zone)
                let ofDay = clock - LocalDays.quotient(clock, 86_400) * 86_400
                return Double(ofDay >= 43_200 ? ofDay - 86_400 : ofDay) / 60
            }
            guard let at = Regularity.middle(minutes),
                let within = Regularity.middle(minutes.map { abs($0 - at) })
            else { return nil }
            return Usual(at: at, within: within)
        }
        guard let start = usual(nights.map(\.start)), let end = usual(nights.map(\.end)) else {
            return nil
        }
        (self.start, self.end) = (start, end)
    }

    private static func middle(_ values: [Double]) -> Double? {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return nil }
        let half = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[half - 1] + sorted[half]) / 2 : sorted[half]
    }
}
