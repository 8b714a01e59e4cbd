import Testing

@testable import HealthStore

@Suite struct AggregateRulingTests {
    private typealias Former = AggregateDecision.Former

    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var formers: [AggregateDecision.Former]
        var outcome: AggregateDecision.Outcome
        var target: Int64?
        var removed: [Int64] = []
        var inDoubt: [Int64] = []
        var moved: Int64?
        var needsRow = false
    }

    private static func former(
        _ id: Int64, _ state: OutboxState, same: Bool = false, possibleSends: Int64 = 0,
        asOf: Int64? = 100, shifted: Bool = false
    ) -> AggregateDecision.Former {
        AggregateDecision.Former(
            id: id, isSame: same, isShifted: shifted, state: state, possibleSends: possibleSends,
            asOf: asOf)
    }

    private static let cases: [Case] =
        [
            Case(testDescription: "nothing", formers: [], outcome: .queued, needsRow: true),
            Case(
                testDescription: "another that may have arrived",
                formers: [
                    former(1, .queued, possibleSends: 1)
                ], outcome: .corrected, inDoubt: [1], needsRow: true),
            Case(
                testDescription: "another, set aside since it may have arrived",
                formers: [
                    former(1, .setAside, possibleSends: 1)
                ], outcome: .corrected, needsRow: true),
            Case(
                testDescription: "one sent, one waiting",
                formers: [
                    former(1, .confirmed), former(2, .queued),
                ], outcome: .replaced, target: 2),
            Case(
                testDescription: "the value comes back before its correction is sent",
                formers: [
                    former(1, .confirmed, same: true), former(2, .queued),
                ], outcome: .replaced, removed: [2], moved: 1),
            Case(
                testDescription: "the value comes back after its correction was sent",
                formers: [
                    former(1, .confirmed, same: true), former(2, .accepted),
                ], outcome: .known, moved: 1),
            Case(
                testDescription: "the same, and another of later",
                formers: [
                    former(1, .confirmed, same: true), former(2, .queued, asOf: 101),
                ], outcome: .known),
            Case(
                testDescription: "a measurement of the same value",
                formers: [
                    former(1, .queued, same: true, asOf: nil)
                ], outcome: .known, moved: 1),
            Case(
                testDescription: "the day of another time zone, not sent",
                formers: [former(1, .queued, shifted: true)], outcome: .replaced, target: 1),
            Case(
                testDescription: "the day of another time zone that may have arrived",
                formers: [former(1, .queued, possibleSends: 1, shifted: true)], outcome: .keptAsSent
            ),
            Case(
                testDescription: "days of another time zone, one of them sent",
                formers: [former(1, .confirmed, shifted: true), former(2, .queued, shifted: true)],
                outcome: .keptAsSent),
            Case(
                testDescription: "the day was sent in two time zones",
                formers: [former(1, .confirmed, shifted: true), former(2, .confirmed)],
                outcome: .corrected, needsRow: true),
            Case(
                testDescription: "several that were not sent",
                formers: [
                    former(1, .rejected), former(2, .setAside), former(3, .queued),
                ], outcome: .replaced, target: 1, removed: [2, 3]),
        ]
        + OutboxState.allCases.map {
            Case(
                testDescription: "the same, \($0)", formers: [former(7, $0, same: true)],
                outcome: .known, moved: 7)
        }
        + OutboxState.allCases.map {
            Case(
                testDescription: "a later one, \($0)", formers: [former(7, $0, asOf: 101)],
                outcome: .known)
        }
        + [OutboxState.queued, .rejected, .setAside].map {
            Case(
                testDescription: "another, \($0)", formers: [former(7, $0)], outcome: .replaced,
                target: 7)
        }
        + [OutboxState.sending, .accepted, .confirmed, .unconfirmed].map {
            Case(
                testDescription: "another, \($0)", formers: [former(7, $0)], outcome: .corrected,
                needsRow: true)
        }
        + [OutboxState.sending, .accepted, .confirmed, .unconfirmed].map {
            Case(
                testDescription: "the day of another time zone, \($0)",
                formers: [former(7, $0, shifted: true)], outcome: .keptAsSent)
        }

    @Test(arguments: cases)
    func `the stored rows of a day decide what happens to its new value`(_ row: Case) {
        let decision = AggregateDecision(row.formers, asOf: 100)

        #expect(decision.outcome == row.outcome)
        #expect(decision.target == row.target)
        #expect(decision.removed == row.removed)
        #expect(decision.inDoubt == row.inDoubt)
        #expect(decision.moved == row.moved)
        #expect(decision.needsRow == row.needsRow)
    }
}
