import Testing

@testable import ClarityScheduler

/// Checks on random schedules that `next`, `due` and `latest` agree.
struct SchedulePropertyTests {
    /// A failure prints its seed; `arguments: [seed]` repeats it alone.
    @Test(arguments: 0..<40 as Range<UInt64>)
    func `next, due and latest tell of the same occurrences`(seed: UInt64) throws {
        var draw = ScheduleDraw(seed: seed)
        for _ in 0..<100 {
            let schedule = try draw.schedule()
            let anchor = draw.instant()
            let start = draw.instant()
            let wanted = draw.number(0...40)

            var found: [Instant] = []
            var next = schedule.next(after: start, anchor: anchor)
            while let occurrence = next, found.count < wanted {
                found.append(occurrence)
                next = schedule.next(after: occurrence, anchor: anchor)
            }
            // The end lies between the last occurrence, included, and the next one, excluded.
            let room = next.map { ($0 - (found.last ?? start)).milliseconds } ?? 1_000_000
            let end = (found.last ?? start) + .milliseconds(Int64(draw.number(0...Int(room) - 1)))
            let due = schedule.due(after: start, through: end, anchor: anchor)
            let tail = draw.number(0...45)
            let latest = schedule.latest(tail, after: start, through: end, anchor: anchor)

            let about = "seed \(seed): \(schedule) from \(start) to \(end), anchor \(anchor)"
            #expect(found == found.sorted() && Set(found).count == found.count, "\(about)")
            #expect(found.allSatisfy { $0 > start }, "\(about)")
            #expect(due?.count ?? 0 == found.count, "\(about)")
            #expect(due?.first == found.first, "\(about)")
            #expect(due?.latest == found.last, "\(about)")
            #expect(latest == Array(found.suffix(tail)), "\(about)")
            for bound in [schedule.notBefore, schedule.notAfter].compactMap(\.self) {
                let isFirst = bound == schedule.notBefore
                #expect(
                    found.map { $0 - schedule.delay }.allSatisfy {
                        isFirst ? $0 >= bound : $0 <= bound
                    }, "\(about)")
            }
        }
    }
}

/// Draws the random values of a trial.
private struct ScheduleDraw {
    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func number(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &random)
    }

    /// Draws an instant from 2020 up to the start of 2032.
    mutating func instant() -> Instant {
        Instant(
            millisecondsSince1970: .random(
                in: 1_577_836_800_000...1_956_528_000_000, using: &random))
    }

    mutating func schedule() throws -> Schedule {
        let rule: Schedule.Rule =
            switch number(0...8) {
            case 0: .at(instant())
            case 1, 2:
                .every(
                    .milliseconds(Int64(number(1...90_000_000))),
                    phase: number(0...1) == 0 ? nil : .seconds(number(0...10_000)))
            case 3...5: .cron(try CronExpression(cron()), try zone())
            default: .calendar(try CalendarExpression(calendar()), try zone())
            }
        var schedule = Schedule(rule)
        if number(0...2) == 0 { schedule.delay = .milliseconds(Int64(number(0...100_000_000))) }
        if number(0...3) == 0 { schedule.notBefore = instant() }
        if number(0...3) == 0 { schedule.notAfter = instant() }
        return schedule
    }

    private mutating func zone() throws -> Zone {
        let rules = [
            "UTC0", "GMT0BST,M3.5.0/1,M10.5.0", "EST5EDT,M3.2.0,M11.1.0",
            "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "<+0545>-5:45", "IST-1GMT0,M10.5.0,M3.5.0/1",
        ]
        return try TZifFile(footer: rules[number(0...rules.count - 1)]).zone()
    }

    private mutating func cron() -> String {
        let fields = [0...59, 0...23, 1...28, 1...12, 0...6].enumerated().map { index, range in
            if number(0...(index < 2 ? 2 : 1)) > 0 { return index < 1 ? "\(number(range))" : "*" }
            return list(range, "-", isStepAlone: false)
        }
        return fields.joined(separator: " ")
    }

    private mutating func calendar() -> String {
        var words: [String] = []
        let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
        if number(0...2) == 0 {
            let first = number(0...6)
            words.append("\(days[first])..\(days[number(first...6)])")
        }
        let isFromEnd = number(0...3) == 0
        let day = number(0...1) == 0 ? "*" : list(1...28, "..", isStepAlone: !isFromEnd)
        let month = number(0...1) == 0 ? "*" : list(1...12, "..", isStepAlone: true)
        let year = number(0...3) > 0 ? "*" : list(2019...2033, "..", isStepAlone: false)
        words.append("\(year)-\(month)\(isFromEnd ? "~" : "-")\(day)")
        let hour = number(0...2) == 0 ? "*" : list(0...23, "..", isStepAlone: true)
        let minute = number(0...4) == 0 ? "*" : list(0...59, "..", isStepAlone: true)
        let second = number(0...1) == 0 ? "" : ":" + list(0...59, "..", isStepAlone: true)
        words.append("\(hour):\(minute)\(second)")
        return words.joined(separator: " ")
    }

    /// Draws a list of values and ranges, some with steps.
    private mutating func list(
        _ range: ClosedRange<Int>, _ mark: String, isStepAlone: Bool
    ) -> String {
        (0..<number(1...3)).map { _ in
            let first = number(range)
            let last = number(first...range.upperBound)
            switch number(0...3) {
            case 0 where last > first:
                return "\(first)\(mark)\(last)/\(number(1...min(last - first, 9)))"
            case 1: return "\(first)\(mark)\(last)"
            case 2 where isStepAlone && first < range.upperBound:
                return "\(first)/\(number(1...range.upperBound - first))"
            default: return "\(first)"
            }
        }.joined(separator: ",")
    }
}
