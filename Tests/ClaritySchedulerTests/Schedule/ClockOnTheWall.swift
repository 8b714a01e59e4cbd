@testable import ClarityScheduler

/// Looks at the clock of a zone minute by minute and says when each of some schedules fires.
///
/// It knows no rule but the one that people are told: a wildcard fires when the clock shows a time
/// that it names, a fixed time when the clock first reaches or passes it.
struct ClockOnTheWall {
    /// A schedule and, apart from its text, what it names.
    struct Watched: Sendable {
        var rule: String
        var isCalendar = false
        var isWildcard: Bool
        var weekdays = 0...6
        var names: @Sendable (_ hour: Int, _ minute: Int) -> Bool
    }

    /// For each minute of a day, the schedules that name it, as bits; and for each weekday.
    private var minutes = [UInt32](repeating: 0, count: 1440)
    private var weekdays = [UInt32](repeating: 0, count: 7)
    private var wildcards: UInt32 = 0
    private let count: Int

    init(_ watched: [Watched]) {
        precondition(watched.count <= 32, "32 schedules at most, got \(watched.count)")
        count = watched.count
        for (index, schedule) in watched.enumerated() {
            let bit = (1 as UInt32) << UInt32(index)
            for minute in 0..<1440 where schedule.names(minute / 60, minute % 60) {
                minutes[minute] |= bit
            }
            for weekday in schedule.weekdays { weekdays[weekday] |= bit }
            if schedule.isWildcard { wildcards |= bit }
        }
    }

    /// The seconds since 1970 of a window at which each schedule fires.
    func fired(in window: Range<Int64>, _ zone: Zone) -> [[Int64]] {
        var span = zone.span(at: window.lowerBound)
        // Most clocks change by whole minutes; the others are watched second by second.
        let ends = [window.lowerBound, span.offset, zone.span(at: window.upperBound).offset]
        let step: Int64 = ends.allSatisfy { $0 % 60 == 0 } ? 60 : 1
        var instant = window.lowerBound - step
        // A clock that changed lately may have been further ahead than it is.
        let lately: Int64 = 30 * 3600
        if span.start > instant - lately { instant -= lately }
        span = zone.span(at: instant)
        var furthest = instant + span.offset
        var fired = [[Int64]](repeating: [], count: count)
        while instant < window.upperBound {
            if instant >= span.end { span = zone.span(at: instant) }
            let local = instant + span.offset
            var due = named(local) & wildcards
            while furthest < local {
                furthest += step
                due |= named(furthest) & ~wildcards
            }
            if due != 0, instant >= window.lowerBound {
                for index in 0..<count where due >> UInt32(index) & 1 == 1 {
                    fired[index].append(instant)
                }
            }
            instant += step
        }
        return fired
    }

    /// The schedules that name a time of the clock.
    private func named(_ local: Int64) -> UInt32 {
        guard local % 60 == 0 else { return 0 }
        let day = local.flooredQuotient(86_400)
        let mask = minutes[Int(local - day * 86_400) / 60]
        return mask == 0 ? 0 : mask & weekdays[Int((day + 4) % 7)]
    }
}
