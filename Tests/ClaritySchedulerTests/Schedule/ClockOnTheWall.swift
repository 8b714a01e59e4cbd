@testable import ClarityScheduler

/// Steps through a zone's clock minute by minute and records when each schedule fires.
///
/// It implements only the documented rule. A wildcard fires when the clock shows a time that it
/// names. A fixed time fires when the clock first reaches or passes it.
struct ClockOnTheWall {
    /// A schedule's text, and the times that it names, given without parsing the text.
    struct Watched: Sendable {
        var rule: String
        var isCalendar = false
        var isWildcard: Bool
        var weekdays = 0...6
        var names: @Sendable (_ hour: Int, _ minute: Int) -> Bool
    }

    /// The schedules that name each minute of a day, as bits; `weekdays` has the same for weekdays.
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

    /// Returns for each schedule when it fires within the window, in seconds since 1970.
    func fired(in window: Range<Int64>, _ zone: Zone) -> [[Int64]] {
        var span = zone.span(at: window.lowerBound)
        // Most offsets are whole minutes; the others are walked second by second.
        let ends = [window.lowerBound, span.offset, zone.span(at: window.upperBound).offset]
        let step: Int64 = ends.allSatisfy { $0 % 60 == 0 } ? 60 : 1
        var instant = window.lowerBound - step
        // Before a recent change the clock may have been further ahead than it is now.
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

    /// Returns the schedules that name a local time.
    private func named(_ local: Int64) -> UInt32 {
        guard local % 60 == 0 else { return 0 }
        let day = local.flooredQuotient(86_400)
        let mask = minutes[Int(local - day * 86_400) / 60]
        return mask == 0 ? 0 : mask & weekdays[Int((day + 4) % 7)]
    }
}
