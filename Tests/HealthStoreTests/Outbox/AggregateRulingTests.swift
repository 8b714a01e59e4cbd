import Testing

@testable import HealthStore

@Suite struct AggregateRulingTests {
    private typealias Former = AggregateRuling.Former

    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var formers: [AggregateRuling.Former]
        var fate: AggregateRuling.Fate
        var target: Int64?
        var removed: [Int64] = []
        var possiblySent: [Int64] = []
        var moved: Int64?
        var needsRow = false
    }

    private static func former(
        _ id: Int64, _ state: OutboxState, same: Bool = false, possibleSends: Int64 = 0,
        asOf: Int64? = 100, shifted: Bool = false
    ) -> AggregateRuling.Former {
        AggregateRuling.Former(
            id: id, isSame: same, isShifted: shifted, state: state, possibleSends: possibleSends,
            asOf: asOf)
    }

    private static let cases: [Case] =
        [
            Case(testDescription: "nothing", formers: [], fate: .queued, needsRow: true),
            Case(
                testDescription: "another that may have arrived",
                formers: [
                    former(1, .queued, possibleSends: 1)
                ], fate: .corrected, possiblySent: [1], needsRow: true),
            Case(
                testDescription: "another, set aside since it may have arrived",
                formers: [
                    former(1, .setAside, possibleSends: 1)
                ], fate: .corrected, needsRow: true),
            Case(
                testDescription: "one sent, one waiting",
                formers: [
                    former(1, .confirmed), former(2, .queued),
                ], fate: .replaced, target: 2),
            Case(
                testDescription: "the value comes back before its correction is sent",
                formers: [
                    former(1, .confirmed, same: true), former(2, .queued),
                ], fate: .replaced, removed: [2], moved: 1),
            Case(
                testDescription: "the value comes back after its correction was sent",
                formers: [
                    former(1, .confirmed, same: true), former(2, .accepted),
                ], fate: .known, moved: 1),
            Case(
                testDescription: "the same, and another of later",
                formers: [
                    former(1, .confirmed, same: true), former(2, .queued, asOf: 101),
                ], fate: .known),
            Case(
                testDescription: "a measurement of the same value",
                formers: [
                    former(1, .queued, same: true, asOf: nil)
                ], fate: .known, moved: 1),
            Case(
                testDescription: "the day of another time zone, not sent",
                formers: [former(1, .queued, shifted: true)], fate: .replaced, target: 1),
            Case(
                testDescription: "the day of another time zone that may have arrived",
                formers: [former(1, .queued, possibleSends: 1, shifted: true)], fate: .keptAsSent),
            Case(
                testDescription: "days of another time zone, one of them sent",
                formers: [former(1, .confirmed, shifted: true), former(2, .queued, shifted: true)],
                fate: .keptAsSent),
            Case(
                testDescription: "the day was sent in two time zones",
                formers: [former(1, .confirmed, shifted: true), former(2, .confirmed)],
                fate: .corrected, needsRow: true),
            Case(
                testDescription: "several that were not sent",
                formers: [
                    former(1, .rejected), former(2, .setAside), former(3, .queued),
                ], fate: .replaced, target: 1, removed: [2, 3]),
        ]
        + OutboxState.allCases.map {
            Case(
                testDescription: "the same, \($0)", formers: [former(7, $0, same: true)],
                fate: .known, moved: 7)
        }
        + OutboxState.allCases.map {
            Case(
                testDescription: "a later one, \($0)", formers: [former(7, $0, asOf: 101)],
                fate: .known)
        }
        + [OutboxState.queued, .rejected, .setAside].map {
            Case(
                testDescription: "another, \($0)", formers: [former(7, $0)], fate: .replaced,
                target: 7)
        }
        + [OutboxState.sending, .accepted, .confirmed, .unconfirmed].map {
            Case(
                testDescription: "another, \($0)", formers: [former(7, $0)], fate: .corrected,
                needsRow: true)
        }
        + [OutboxState.sending, .accepted, .confirmed, .unconfirmed].map {
            Case(
                testDescription: "the day of another time zone, \($0)",
                formers: [former(7, $0, shifted: true)], fate: .keptAsSent)
        }

    @Test(arguments: cases)
    func `what becomes of a value follows from what is there`(_ row: Case) {
        let ruling = AggregateRuling(row.formers, asOf: 100)

        #expect(ruling.fate == row.fate)
        #expect(ruling.target == row.target)
        #expect(ruling.removed == row.removed)
        #expect(ruling.possiblySent == row.possiblySent)
        #expect(ruling.moved == row.moved)
        #expect(ruling.needsRow == row.needsRow)
    }
}
