import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("How flex lets runs start early")
struct FlexTests {
    private let hour = Duration.seconds(3600)

    /// Makes a desk whose hourly job ran at noon and may start up to 30 minutes early.
    private func desk(_ constraints: [Constraint] = []) throws -> PlanningDesk {
        let schedule = Schedule(.every(hour, phase: nil), flex: .seconds(1800))
        var desk = PlanningDesk([try job(schedule: schedule, constraints: constraints)])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))
        return desk
    }

    @Test func `a look within the flex starts the run of the occurrence to come`() throws {
        var desk = try desk()

        desk.pass(.seconds(1799))
        let before = try desk.handle(.tick)
        desk.pass(.seconds(1))
        let within = try desk.handle(.tick)

        #expect(before.started == [])
        #expect(before.wakeAfter == .seconds(1))
        #expect(within.started.map(\.scheduledFor) == [.noon + hour])
        #expect(desk.store.runs[RunID(2)]?.trigger == .schedule)
    }

    @Test func `a scheduler that sleeps wakes up when the window opens`() throws {
        var desk = try desk()

        desk.pass(.seconds(60))
        let plan = try desk.handle(.tick)

        #expect(plan.wakeAfter == .seconds(1740))
    }

    @Test func `what has to wait in its window is looked at as soon as it may change`() throws {
        var desk = try desk([.externalPower])
        desk.conditions.externalPower = Conditions.Reading(false, source: "test")

        desk.pass(.seconds(1800))
        let plan = try desk.handle(.tick)

        #expect(plan.started == [])
        #expect(plan.wakeAfter == Planner.announcedRecheck)
    }

    @Test func `the occurrence that was run early does not come again`() throws {
        var desk = try desk()
        desk.pass(.seconds(2000))
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(2), .success()))

        desk.pass(.seconds(1600))
        let atTheHour = try desk.handle(.tick)

        #expect(atTheHour.started == [])
        #expect(atTheHour.wakeAfter == hour - .seconds(1800))
        #expect(desk.store.outcomes == [])
    }

    @Test func `a run that would have to wait is not started early`() throws {
        var desk = try desk([.idle])
        desk.conditions.idle = Conditions.Reading(false, source: "test")

        desk.pass(.seconds(2000))
        let early = try desk.handle(.tick)
        desk.pass(.seconds(1600))
        let due = try desk.handle(.tick)

        #expect(early.waiting == [])
        #expect(desk.store.runs.count == 2)
        #expect(due.waiting.first?.deferrals.map(\.subject) == ["idle"])
    }

    @Test func `a run starts when its conditions come true within the flex`() throws {
        var desk = try desk([.idle])
        let idle = desk.conditions.idle
        desk.conditions.idle = Conditions.Reading(false, source: "test")
        desk.pass(.seconds(2000))
        try desk.handle(.tick)

        desk.conditions.idle = idle
        let plan = try desk.handle(.conditionsChanged)

        #expect(plan.started.map(\.scheduledFor) == [.noon + hour])
    }
}
