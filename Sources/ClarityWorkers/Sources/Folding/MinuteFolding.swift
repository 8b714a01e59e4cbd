import ClarityJobs
import ClarityScheduler

/// Counts the steps of the last days by minute.
///
/// A record's steps are shared out over its minutes in whole numbers that add up to it. Which minute
/// is meant is what a clock of the zone shows: a day has 1,440 of them, an hour that is skipped has
/// no steps, and one that comes twice has those of both. A record of more than an hour says too
/// little of its minutes and is left out.
struct MinuteFolding {
    /// The days that are kept, the one in which the records end among them.
    static let days = 8
    /// The longest record that counts, in seconds.
    static let longest: Int64 = 3600
    /// The days of single sources that are kept, 1.5 MB: 32 sources a day. What comes beyond is
    /// left out.
    static let capacity = 256
    static let minutesPerDay = 1440

    private struct Key: Hashable {
        var day: Int
        var source: Int
    }

    private let zone: Zone
    private let until: Int64
    private let lastDay: Int
    /// The last instant that is surely too early.
    private let horizon: Int64
    private var pages: [Key: [UInt32]] = [:]

    /// - Parameter until: when the records end, in seconds.
    init(zone: Zone, until: Int64) {
        self.zone = zone
        self.until = until
        lastDay = Int(LocalDays.quotient(LocalDays.clock(at: until, in: zone), 86_400))
        horizon = until - Int64(MinuteFolding.days + 2) * 86_400
    }

    /// Takes a record of steps.
    @inline(__always)
    mutating func add(_ value: Double, source: Int, start: Int64, end: Int64) {
        if end > horizon { share(value, source, start, end) }
    }

    private mutating func share(_ value: Double, _ source: Int, _ start: Int64, _ end: Int64) {
        guard end - start <= MinuteFolding.longest, value < 1e6 else { return }
        let amount = Int64(value + 0.5)
        if start == end {
            add(amount, source, start)
            return
        }
        var from = start
        var given: Int64 = 0
        while from < end {
            let next = min(end, (LocalDays.quotient(from, 60) + 1) * 60)
            let sum = amount * (next - start) / (end - start)
            if sum > given { add(sum - given, source, from) }
            given = sum
            from = next
        }
    }

    private mutating func add(_ amount: Int64, _ source: Int, _ time: Int64) {
        let clock = LocalDays.clock(at: time, in: zone)
        let day = Int(LocalDays.quotient(clock, 86_400))
        guard day <= lastDay, day > lastDay - MinuteFolding.days else { return }
        let key = Key(day: day, source: source)
        guard pages[key] != nil || pages.count < MinuteFolding.capacity else { return }
        let minute = Int(clock - Int64(day) * 86_400) / 60
        let empty = [UInt32](repeating: 0, count: MinuteFolding.minutesPerDay)
        let cell = pages[key]?[minute] ?? 0
        pages[key, default: empty][minute] = UInt32(clamping: Int64(cell) + amount)
    }

    /// The days that have records, in their order; in each minute the best source that has something
    /// counts.
    ///
    /// - Parameter order: the place of each source in the order of ranks, by its index.
    func resolve(order: [Int]) -> [StepDay] {
        let sources = Dictionary(grouping: pages.keys, by: \.day)
        return sources.keys.sorted().map { day in
            let ranked = (sources[day] ?? []).sorted { order[$0.source] < order[$1.source] }
            var counts = [UInt32](repeating: 0, count: MinuteFolding.minutesPerDay)
            for key in ranked {
                for (minute, count) in (pages[key] ?? []).enumerated() where counts[minute] == 0 {
                    counts[minute] = count
                }
            }
            var known = MinuteFolding.minutesPerDay
            if day == lastDay {
                known = Int(LocalDays.clock(at: until, in: zone) - Int64(day) * 86_400) / 60
            }
            return StepDay(
                day: CivilDay(daysSince1970: day), zone: zone.identifier, counts: counts,
                knownMinutes: known)
        }
    }
}
