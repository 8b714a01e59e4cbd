import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("Runs with parameters of their own")
struct ParametersTests {
    private func request(_ values: [String: String]) throws -> Planner.Event {
        .requested([try id("a")], isForced: false, parameters: values)
    }

    @Test func `the attempt gets the values, and so does each retry`() throws {
        var desk = PlanningDesk([try job(schedule: nil)])

        let first = try desk.handle(try request(["TAG": "x"]))
        try desk.handle(.finished(RunID(1), .retry()))
        desk.pass(.seconds(3600))
        let second = try desk.handle(.tick)

        #expect(first.started.map(\.parameters) == [["TAG": "x"]])
        #expect(second.started.map(\.parameters) == [["TAG": "x"]])
    }

    @Test func `an occurrence that falls due while it waits has a run of its own`() throws {
        var desk = PlanningDesk([try job(constraints: [.externalPower])])
        desk.conditions.externalPower = Conditions.Reading(false, source: "test")
        try desk.handle(try request(["TAG": "x"]))

        desk.pass(.seconds(3600))
        try desk.handle(.tick)

        let runs = desk.store.runs.values.sorted { $0.id < $1.id }
        #expect(runs.filter { $0.trigger == .manual }.map(\.latestOccurrence) == [nil])
        #expect(runs.contains { $0.trigger == .schedule && $0.parameters.isEmpty })
    }

    @Test func `another value is another run, the same value the same`() throws {
        var desk = PlanningDesk([try job(schedule: nil, constraints: [.externalPower])])
        desk.conditions.externalPower = Conditions.Reading(false, source: "test")

        for value in ["x", "y", "x"] { try desk.handle(try request(["TAG": value])) }
        try desk.handle(try request([:]))

        let runs = desk.store.runs.values.sorted { $0.id < $1.id }
        #expect(runs.map(\.parameters) == [["TAG": "x"], ["TAG": "y"], [:]])
    }

    @Test func `a request with values during a run waits for its end, one without gets no run`()
        throws
    {
        var desk = PlanningDesk([try job(schedule: nil)])
        try desk.handle(try request([:]))

        let during = try desk.handle(try request(["TAG": "x"]))
        try desk.handle(try request([:]))
        let after = try desk.handle(.finished(RunID(1), .success()))

        #expect(during.started.isEmpty)
        #expect(desk.store.runs.count == 2)
        #expect(after.started.map(\.parameters) == [["TAG": "x"]])
    }

    @Test func `it starts before a run of the job that waits, and never beside one`() throws {
        var desk = PlanningDesk([try job(schedule: nil, constraints: [.externalPower])])
        desk.conditions.externalPower = Conditions.Reading(false, source: "test")
        try desk.handle(try request([:]))
        try desk.handle(try request(["TAG": "x"]))

        desk.conditions.externalPower = Conditions.Reading(true, source: "test")
        let first = try desk.handle(.conditionsChanged)
        let second = try desk.handle(.finished(RunID(2), .success()))

        #expect(first.started.map(\.run) == [RunID(2)])
        #expect(second.started.map(\.run) == [RunID(1)])
    }

    @Test func `a repeated run has the values of the one before`() throws {
        var desk = PlanningDesk([try job(schedule: nil)])

        let plan = try desk.handle(.retry(RunID(7), of: try id("a"), parameters: ["TAG": "x"]))

        #expect(plan.started.map(\.parameters) == [["TAG": "x"]])
        #expect(desk.store.runs[RunID(1)]?.causedBy == RunID(7))
    }

    @Test(arguments: [
        Parameters([]), Parameters([Parameter("A")]),
        Parameters([
            Parameter("A", default: "", pattern: "p|d"), Parameter("B", default: "d=\u{301}"),
            Parameter("C", pattern: "[0-9]+"),
        ]),
    ])
    func `declarations reach the worker as they are`(parameters: Parameters) {
        #expect(Parameters(optionText: parameters.optionText) == parameters)
    }
}
