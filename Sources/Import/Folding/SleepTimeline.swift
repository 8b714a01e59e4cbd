import HealthModel

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

    private func of(_ stage: SleepStage) -> Int64 { seconds[Int(stage.rawValue)] }

    /// Returns whole minutes; half a minute rounds up.
    private static func minutes(_ seconds: Int64) -> Int { Int((seconds + 30) / 60) }
}
