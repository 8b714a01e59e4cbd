import HealthStore
import HealthModel
import ClarityScheduler

/// A stage of sleep in a record. Where two overlap, the greater one counts: more precise knowledge
/// hides less precise knowledge.
enum SleepStage: UInt8, CaseIterable, Comparable {
    case inBed
    /// A name that nobody knows: asleep, awake or neither.
    case unknown
    /// Asleep, in an unknown stage.
    case asleep
    case awake
    case core
    case rem
    case deep

    static func < (a: SleepStage, b: SleepStage) -> Bool { a.rawValue < b.rawValue }

    /// Whether the stage is sleep.
    var isSleep: Bool { self > .unknown && self != .awake }

    /// Reads the value of a record of sleep analysis; `nil` for an unknown value.
    ///
    /// iOS 15 and earlier wrote `HKCategoryValueSleepAnalysisAsleep`. iOS 8 wrote HealthKit's
    /// number instead. Every name of a stage of sleep begins with `Asleep`.
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
        case "AsleepCore": self = .core
        case "AsleepDeep": self = .deep
        case "AsleepREM": self = .rem
        case let name where name.hasPrefix("Asleep"): self = .asleep
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

/// The stages of a session, laid over each other. At each instant the most precise stage counts,
/// however many records have it.
struct SleepTimeline {
    private var seconds = [Int64](repeating: 0, count: SleepStage.allCases.count)
    private var start = Int64.max
    private var end = Int64.min
    private var firstInBed: Int64?
    private var fellAsleep: Int64?
    /// The seconds awake after falling asleep.
    private var awake: Int64 = 0
    private var wakeCount = 0
    private var liesAwake = false

    init(_ records: ArraySlice<SleepRecord>) {
        var events: [(time: Int64, stage: SleepStage, change: Int)] = []
        for record in records {
            start = min(start, record.start)
            end = max(end, record.end)
            guard record.seconds > 0 else { continue }
            events.append((record.start, record.stage, 1))
            events.append((record.end, record.stage, -1))
            if record.stage == .inBed {
                firstInBed = min(firstInBed ?? record.start, record.start)
            }
        }
        events.sort { $0.time < $1.time }
        var open = [Int](repeating: 0, count: SleepStage.allCases.count)
        var time = start
        for event in events {
            if event.time > time {
                if let stage = SleepStage.allCases.last(where: { open[Int($0.rawValue)] > 0 }) {
                    pass(stage, time, event.time)
                }
                time = event.time
            }
            open[Int(event.stage.rawValue)] += event.change
        }
    }

    private mutating func pass(_ stage: SleepStage, _ from: Int64, _ to: Int64) {
        seconds[Int(stage.rawValue)] += to - from
        if stage.isSleep {
            if fellAsleep == nil { fellAsleep = from }
            if liesAwake { wakeCount += 1 }
            liesAwake = false
        } else if stage == .awake, fellAsleep != nil {
            awake += to - from
            liesAwake = true
        }
    }

    /// The night that the stages add up to; `nil` without sleep.
    var night: SleepNight? {
        let light = of(.core) + of(.asleep)
        let total = light + of(.deep) + of(.rem)
        guard let fellAsleep, total > 0, end > start else { return nil }
        var toSleep: Int?
        if let firstInBed, firstInBed <= fellAsleep {
            toSleep = SleepTimeline.minutes(fellAsleep - firstInBed)
        }
        // Rounded to a ten-thousandth, because people read this number.
        let efficiency = (total * 10_000 + (end - start) / 2) / (end - start)
        return SleepNight(
            totalMinutes: SleepTimeline.minutes(total), efficiency: Double(efficiency) / 10_000,
            wakeCount: wakeCount, awakeMinutes: SleepTimeline.minutes(awake),
            lightMinutes: SleepTimeline.minutes(light),
            deepMinutes: SleepTimeline.minutes(of(.deep)),
            remMinutes: SleepTimeline.minutes(of(.rem)), minutesToSleep: toSleep)
    }

    /// Whether only a stage of an unknown name, or time in bed, is known of some of the time.
    var hasUnknown: Bool { of(.unknown) > 0 }

    private func of(_ stage: SleepStage) -> Int64 { seconds[Int(stage.rawValue)] }

    /// Returns whole minutes; half a minute rounds up.
    private static func minutes(_ seconds: Int64) -> Int { Int((seconds + 30) / 60) }
}
