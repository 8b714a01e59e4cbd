import HealthStore
import HealthModel
import ClarityScheduler

/// A stage of sleep in a record. Where two overlap, the greater one counts: more precise knowledge
/// hides less precise knowledge.
enum SleepStage: UInt8, CaseIterable, Comparable {
    /// A name that nobody knows: asleep, awake or neither.
    case unknown
    case inBed
    /// Asleep, in an unknown stage.
    case asleep
    case awake
    case core
    case rem
    case deep

    static func < (a: SleepStage, b: SleepStage) -> Bool { a.rawValue < b.rawValue }

    /// Whether the stage is sleep.
    var isSleep: Bool { self > .inBed && self != .awake }

    /// Reads the value of a record of sleep analysis; `nil` for an unknown value.
    ///
    /// iOS 15 and earlier wrote `HKCategoryValueSleepAnalysisAsleep`. iOS 8 wrote HealthKit's
    /// number instead.
    init?(healthKitValue name: String) {
        let prefix = "HKCategoryValueSleepAnalysis"
        guard name.hasPrefix(prefix) else {
            let numbered: [String: SleepStage] = [
                "0": .inBed, "1": .asleep, "2": .awake, "3": .core, "4": .deep, "5": .rem,
            ]
            guard let stage = numbered[name] else { return nil }
            self = stage
            return
        }
        switch name.dropFirst(prefix.count) {
        case "InBed": self = .inBed
        case "Asleep", "AsleepUnspecified": self = .asleep
        case "AsleepCore": self = .core
        case "AsleepDeep": self = .deep
        case "AsleepREM": self = .rem
        case "Awake": self = .awake
        default: return nil
        }
    }
}

/// One record of sleep, in 16 bytes.
struct SleepRecord {
    var start: Int64
    var seconds: UInt32
    var source: UInt16
    /// The index of its zone among those that the export names; 255 for none.
    var zone: UInt8 = 255
    var stage: SleepStage

    var end: Int64 { start + Int64(seconds) }

    /// Returns the record in parts that each lie between two noons on the clocks of `zone`. Each
    /// part comes with its night, as in `SleepSession.night`.
    func cutAtNoon(in zone: Zone) -> [(night: Int, part: SleepRecord)] {
        var parts: [(night: Int, part: SleepRecord)] = []
        var part = self
        while true {
            let night = SleepSession.night(at: part.start, in: zone)
            let noon = SleepSession.end(ofNight: night, in: zone)
            guard part.start < noon, noon < end else { break }
            part.seconds = UInt32(clamping: noon - part.start)
            parts.append((night, part))
            part.start = noon
            part.seconds = UInt32(clamping: end - noon)
        }
        parts.append((SleepSession.night(at: part.start, in: zone), part))
        return parts
    }
}

/// The records of one source with less than 2 h between them.
struct SleepSession {
    /// The indices of its records.
    var records: Range<Int>
    var source: Int
    var start: Int64
    var end: Int64
    /// Whether it has any sleep.
    var hasSleep: Bool
    /// Whether it has a stage of an unknown name.
    var hasUnknown = false
    var zone: UInt8
    /// The night that an app made of it; `nil` if its stages make one.
    var whole: SleepNight?

    /// Returns the night that the session belongs to, as the days from 1970-01-01 to the date of
    /// its evening. Nights go from noon to noon on the clocks of `zone`, and the middle of the
    /// session counts.
    func night(in zone: Zone) -> Int {
        SleepSession.night(at: start + (end - start) / 2, in: zone)
    }

    /// Returns the night that contains an instant.
    static func night(at seconds: Int64, in zone: Zone) -> Int {
        Int(LocalDays.quotient(LocalDays.clock(at: seconds, in: zone) - 43_200, 86_400))
    }

    /// Returns the noon at which a night ends.
    static func end(ofNight night: Int, in zone: Zone) -> Int64 {
        let date = CivilTime.date(daysSince1970: night + 1)
        let noon = CivilTime(year: date.year, month: date.month, day: date.day, hour: 12)
        return zone.first(noon).secondsSince1970
    }

    /// Whether the session lies between 8 in the morning and 8 in the evening of one day.
    func isNap(in zone: Zone) -> Bool {
        let first = LocalDays.clock(at: start, in: zone)
        let last = LocalDays.clock(at: end, in: zone)
        let morning = LocalDays.quotient(first, 86_400) * 86_400 + 28_800
        return first >= morning && last <= morning + 43_200
    }
}

extension Zone {
    /// Returns the first instant at which the zone's clock shows a time, or goes on after skipping
    /// it.
    func first(_ time: CivilTime) -> Instant {
        switch resolve(time) {
        case .once(let instant), .twice(let instant, _), .skipped(let instant): instant
        }
    }
}
