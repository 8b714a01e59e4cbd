import HealthStore
import ClarityScheduler
import Testing

@testable import ClarityJobs

@Suite struct PullPlanTests {
    private let now = Instant(secondsSince1970: 1_760_000_000)
    private let week = Duration.seconds(7 * 86_400)

    private func record(
        endedAt: Instant? = nil, wholeAt: Instant? = nil, place: String? = nil
    ) -> PullRecord {
        var record = PullRecord()
        (record.endedAt, record.wholeAt, record.place) = (endedAt, wholeAt, place)
        return record
    }

    private func times(_ hours: Int...) -> [Instant] { hours.map { now - .seconds(3600 * $0) } }

    @Test func `the first pull goes through everything from the front`() {
        let plan = PullPlan(checkpoint: nil, record: PullRecord())

        #expect(plan.phase == .whole)
        #expect(plan.cursor == nil && plan.checkpoint == nil)
    }

    @Test func `later ones begin with what is new, at the front`() {
        for record in [record(endedAt: now), record(place: "p"), record(wholeAt: now, place: "p")] {
            let plan = PullPlan(checkpoint: nil, record: record)
            #expect(plan.phase == .recent && plan.cursor == nil)
        }
    }

    @Test(arguments: [
        ("whole abc", PullPlan.Phase.whole, "abc"), ("recent 1 abc", .recent, "abc"),
        // A cursor is any text that a backend chooses.
        ("whole a b", .whole, "a b"), ("recent 1 a b", .recent, "a b"),
        ("recent 0 a b c", .recent, "a b c"),
        // An earlier version's checkpoint was the place alone.
        ("abc", .whole, "abc"), ("recent x abc", .whole, "recent x abc"),
    ])
    func `an attempt goes on from what the one before left`(
        checkpoint: String, phase: PullPlan.Phase, cursor: String
    ) {
        let plan = PullPlan(checkpoint: checkpoint, record: PullRecord())

        #expect(plan.phase == phase)
        #expect(plan.cursor == cursor)
    }

    @Test func `a checkpoint says how far it came and gives the same plan`() {
        var plan = PullPlan(checkpoint: nil, record: record(endedAt: now))
        _ = plan.take(times(1, 2), hasNews: false, next: "b")

        #expect(plan.checkpoint == "recent 1 b")
        let next = PullPlan(checkpoint: plan.checkpoint, record: PullRecord())
        #expect(next.phase == .recent && next.cursor == "b" && next.checkpoint == plan.checkpoint)
    }

    /// The pages of a recent phase, and whether the phase goes on after the last page.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// For each page, the age of its rows in hours, and whether it brought news.
        var pages: [([Int], Bool)]
        var goesOn: Bool
    }

    @Test(arguments: [
        Case(testDescription: "one known page", pages: [([1, 2], false)], goesOn: true),
        Case(
            testDescription: "two known pages", pages: [([1, 2], false), ([3, 4], false)],
            goesOn: false),
        Case(
            testDescription: "news in between",
            pages: [([1], false), ([2], true), ([3], false)], goesOn: true),
        Case(
            testDescription: "news, then two known pages",
            pages: [([1], true), ([2], false), ([3], false)], goesOn: false),
        Case(
            testDescription: "rows of one instant", pages: [([1, 1], false), ([1, 1], false)],
            goesOn: false),
        Case(
            testDescription: "a page that is not in order",
            pages: [([1, 5, 3], false), ([6], false), ([7], false)], goesOn: true),
        Case(
            testDescription: "pages from old to new", pages: [([9], false), ([8], false)],
            goesOn: true),
        Case(
            testDescription: "empty pages", pages: [([], false), ([], false), ([], false)],
            goesOn: true),
    ])
    func `the recent phase stops where nothing new follows`(row: Case) {
        var plan = PullPlan(checkpoint: nil, record: record(endedAt: now))

        var goesOn = true
        for (number, page) in row.pages.enumerated() {
            let times = page.0.map { now - .seconds(3600 * $0) }
            goesOn = plan.take(times, hasNews: page.1, next: "\(number)")
        }

        #expect(goesOn == row.goesOn)
        #expect(!plan.isAtEnd)
    }

    @Test func `the whole phase stops at the end alone`() {
        var plan = PullPlan(checkpoint: nil, record: PullRecord())

        let goesOn = (0..<5).map { number in
            plan.take(times(number), hasNews: false, next: "\(number)")
        }
        let goesOnAtEnd = plan.take(times(9), hasNews: false, next: nil)

        #expect(goesOn == [true, true, true, true, true])
        #expect(!goesOnAtEnd && plan.isAtEnd)
    }

    @Test func `the whole phase goes on at the place of the last one`() {
        var plan = PullPlan(checkpoint: nil, record: record(endedAt: now))
        _ = plan.take(times(1), hasNews: false, next: "b")

        plan.beginWhole(at: "p")

        #expect(plan.checkpoint == "whole p" && plan.phase == .whole)
    }

    @Test func `everything is gone through once in a while`() {
        func isDue(_ record: PullRecord) -> Bool {
            PullPlan.isWholeDue(record, every: week, at: now)
        }

        #expect(isDue(record(endedAt: now)))
        #expect(isDue(record(wholeAt: now - week)))
        #expect(!isDue(record(wholeAt: now - week + .seconds(1))))
        #expect(isDue(record(wholeAt: now, place: "p")))
        #expect(isDue(record(wholeAt: now + .seconds(1))))
    }
}
