import HealthStore
import HealthModel
import ClarityScheduler

/// Counts the steps of the last days by minute, merged as the steps of a day are.
///
/// A record's steps are divided among its minutes, in whole numbers that add up to it. Minutes are
/// those that a clock of the zone shows: a day has 1,440 of them, a skipped hour has no steps, and
/// a repeated hour has the steps of both. A record of more than an hour says too little about its
/// minutes and is left out.
struct MinuteFolding {
    /// The number of days that are counted, including the one in which the records end.
    static let days = 8
    /// The longest record that counts, in seconds.
    static let longest: Int64 = 3600

    private let zone: Zone
    private let until: Int64
    private var counts = [UInt32](repeating: 0, count: StepDay.minutes)

    /// - Parameter until: when the records end, in seconds since 1970.
    init(zone: Zone, until: Int64) {
        self.zone = zone
        self.until = until
    }

    /// Returns the days that have steps, in order.
    ///
    /// - Parameter load: returns the records of steps that touch a period.
    mutating func fold(_ load: (Int) throws -> [RankedPart]) rethrows -> [StepDay] {
        let lastDay = Int(LocalDays.quotient(LocalDays.clock(at: until, in: zone), 86_400))
        var folding = DayFolding(days: LocalDays(zone: zone))
        var made: [StepDay] = []
        try folding.eachDay(lastDay - MinuteFolding.days + 1...lastDay, load) { day, parts in
            let short = parts.filter { $0.part.end - $0.part.start <= MinuteFolding.longest }
            guard !short.isEmpty else { return }
            counts = [UInt32](repeating: 0, count: StepDay.minutes)
            DaySweep.run(short, in: day.start..<day.end) { share($0, from: $1, to: $2, of: day) }
            var known = StepDay.minutes
            if day.number == lastDay {
                known =
                    Int(LocalDays.clock(at: until, in: zone) - Int64(day.number) * 86_400) / 60
            }
            made.append(
                StepDay(
                    day: CivilDay(daysSince1970: day.number), zone: zone.identifier,
                    counts: counts, knownMinutes: known))
        }
        return made
    }

    private mutating func share(_ part: DayPart, from: Int64, to: Int64, of day: LocalDay) {
        guard !part.isInstant else { return add(MinuteFolding.steps(part, to), from, day) }
        var time = from
        var given = MinuteFolding.steps(part, from)
        while time < to {
            let next = min(to, (LocalDays.quotient(time, 60) + 1) * 60)
            let sum = MinuteFolding.steps(part, next)
            add(sum - given, time, day)
            (given, time) = (sum, next)
        }
    }

    /// Returns the whole steps of a record that lie before an instant.
    private static func steps(_ part: DayPart, _ instant: Int64) -> Int64 {
        let steps = (part.amount + 50) / 100
        guard instant < part.end else { return steps }
        return steps * (instant - part.start) / (part.end - part.start)
    }

    private mutating func add(_ steps: Int64, _ time: Int64, _ day: LocalDay) {
        let clock = LocalDays.clock(at: time, in: zone)
        let minute = Int(clock - Int64(day.number) * 86_400) / 60
        guard steps > 0, counts.indices.contains(minute) else { return }
        counts[minute] = UInt32(clamping: Int64(counts[minute]) + steps)
    }
}
