import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import ClarityHost

@Suite("A trace of conditions")
struct ConditionTraceTests {
    private let online = Conditions(connected: .init(true, source: "x"))
    private let offline = Conditions(connected: .init(false, source: "x"))

    private func trace() throws -> ConditionTrace {
        try #require(
            ConditionTrace([
                .init(at: .noon, conditions: online),
                .init(at: .noon + .seconds(60), conditions: offline),
                .init(at: .noon + .seconds(120), conditions: online),
            ]))
    }

    @Test(arguments: [
        (-3600, true), (0, true), (59, true), (60, false), (119, false), (120, true),
        (86_400, true),
    ])
    func `a line holds from its instant to the next, the first before it too`(
        seconds: Int64, isConnected: Bool
    ) throws {
        let conditions = try trace().conditions(at: .noon + .seconds(seconds))

        #expect(conditions.connected.value == isConnected)
    }

    @Test(
        arguments: [
            (-1, 0), (0, 60), (59, 60), (60, 120), (119, 120), (120, nil), (86_400, nil),
        ] as [(Int64, Int64?)])
    func `the next change is the next line`(seconds: Int64, next: Int64?) throws {
        let change = try trace().nextChange(after: .noon + .seconds(seconds))

        #expect(change == next.map { .noon + .seconds($0) })
    }

    @Test func `there is no trace without a line or with times that do not rise`() {
        #expect(ConditionTrace([]) == nil)
        #expect(
            ConditionTrace([
                .init(at: .noon, conditions: online), .init(at: .noon, conditions: offline),
            ]) == nil)
    }
}
