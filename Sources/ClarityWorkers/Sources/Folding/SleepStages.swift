import ClarityScheduler

/// A stage of sleep as a record has it. Where two overlap the greater one counts: the more precise
/// knowledge hides the less precise.
enum SleepStage: UInt8, CaseIterable, Comparable {
    case inBed
    /// Asleep, in no known stage.
    case asleep
    case awake
    case core
    case rem
    case deep

    static func < (a: SleepStage, b: SleepStage) -> Bool { a.rawValue < b.rawValue }

    /// Whether it is sleep.
    var isSleep: Bool { self != .inBed && self != .awake }

    /// Reads the value of a record of sleep analysis; `nil` for one that is not known.
    ///
    /// `HKCategoryValueSleepAnalysisAsleep` is what iOS 15 and earlier wrote.
    init?(healthKitValue name: String) {
        let prefix = "HKCategoryValueSleepAnalysis"
        guard name.hasPrefix(prefix) else { return nil }
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
    /// The place of its zone among those that the export names; 255 for none.
    var zone: UInt8 = 255
    var stage: SleepStage

    var end: Int64 { start + Int64(seconds) }
}

/// The records of one source with less than 2 h between them.
struct SleepSession {
    /// The places of its records.
    var records: Range<Int>
    var source: Int
    var start: Int64
    var end: Int64
    /// Whether there is more than lying in bed.
    var hasSleep: Bool
    var zone: UInt8

    /// The night that it belongs to, as the days from 1970-01-01 to the date of its evening: nights
    /// go from noon to noon on the clocks of `zone`, and the middle of the session counts.
    func night(in zone: Zone) -> Int {
        let middle = LocalDays.clock(at: start + (end - start) / 2, in: zone)
        return Int(LocalDays.quotient(middle - 43_200, 86_400))
    }

    /// Whether it lies between 8 in the morning and 8 in the evening of one day.
    func isNap(in zone: Zone) -> Bool {
        let first = LocalDays.clock(at: start, in: zone)
        let last = LocalDays.clock(at: end, in: zone)
        let morning = LocalDays.quotient(first, 86_400) * 86_400 + 28_800
        return first >= morning && last <= morning + 43_200
    }
}
