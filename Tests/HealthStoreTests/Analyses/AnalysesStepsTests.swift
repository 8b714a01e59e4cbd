import Database
import Testing

@testable import HealthStore
@testable import HealthModel

@Suite(.onBothEngines) struct AnalysesStepsTests {
    private let folder = StateFolder()

    /// Makes a day with steps in one minute.
    private func day(_ number: Int, _ count: UInt32 = 1, known: Int = 1440) -> StepDay {
        var counts = [UInt32](repeating: 0, count: 1440)
        counts[number % 1440] = count
        return StepDay(
            day: CivilDay(daysSince1970: number), zone: "Europe/London", counts: counts,
            knownMinutes: known)
    }

    @Test func `seven days are 10080 minutes, the oldest first`() throws {
        let store = try folder.open()
        try store.analyses.keep((100..<107).reversed().map { day($0, UInt32($0), known: 1000) })

        guard
            case .known(let counts, let isKnown) = try store.analyses.stepMinutes(
                endingOn: CivilDay(daysSince1970: 106))
        else {
            Issue.record("the week is not known")
            return
        }

        #expect(counts.count == 10_080 && isKnown.count == 10_080)
        #expect(counts[100] == 100)
        #expect(counts[6 * 1440 + 106] == 106)
        #expect(counts.reduce(0, +) == (100..<107).reduce(0) { $0 + UInt32($1) })
        #expect(isKnown[999] && !isKnown[1000] && isKnown[1440])
    }

    @Test func `days without steps are missing`() throws {
        let store = try folder.open()
        try store.analyses.keep([day(100), day(103)])

        #expect(
            try store.analyses.stepMinutes(endingOn: CivilDay(daysSince1970: 106))
                == .missing(days: 5))
        #expect(
            try store.analyses.stepMinutes(endingOn: CivilDay(daysSince1970: 99))
                == .missing(days: 7))
    }

    @Test func `a later day replaces an earlier one unless it knows less`() throws {
        let store = try folder.open()
        func steps() throws -> UInt32 {
            let days = try store.analyses.stepDays().map(\.daysSince1970)
            guard days == Array(100..<107),
                case .known(let counts, _) = try store.analyses.stepMinutes(
                    endingOn: CivilDay(daysSince1970: 106))
            else { return 0 }
            return counts[6 * 1440 + 106]
        }
        try store.analyses.keep((100..<107).map { day($0, 5, known: 600) })
        #expect(try steps() == 5)

        try store.analyses.keep([day(106, 7, known: 600)])
        #expect(try steps() == 7)
        try store.analyses.keep([day(106, 9, known: 1440)])
        #expect(try steps() == 9)
        try store.analyses.keep([day(106, 3, known: 1439)])
        #expect(try steps() == 9)
    }

    @Test func `the newest 35 days stay`() throws {
        let store = try folder.open()
        try store.analyses.keep((0..<40).map { day($0) })
        try store.analyses.keep([day(2)])

        #expect(try store.analyses.stepDays().map(\.daysSince1970) == Array(5..<40))
    }

    @Test func `a day opens for no other date`() throws {
        let store = try folder.open()
        try store.analyses.keep((100..<107).map { day($0) })
        try store.access { connection in
            try connection.execute(
                """
                UPDATE minutes SET sealed = (SELECT sealed FROM minutes WHERE day = 101)
                WHERE day = 104
                """)
        }

        let error = #expect(throws: HealthStoreError.self) {
            try store.analyses.stepMinutes(endingOn: CivilDay(daysSince1970: 106))
        }

        #expect(
            error?.description.hasSuffix("the encrypted value of row `104` in `minutes` is damaged")
                == true)
    }

    @Test func `a date has its text and a day shows no steps`() {
        #expect(CivilDay(daysSince1970: 20_407).description == "2025-11-15")
        #expect(CivilDay(daysSince1970: -1).description == "1969-12-31")
        #expect("\([day(100, 4711)])" == "[<redacted>]")
    }
}
