import Testing

@testable import HealthStore

@Suite struct WeekRulingTests {
    @Test(
        arguments: [
            (7200, nil, nil, .analyse),
            (7199, nil, nil, .tooFew(known: 7199, needed: 7200)),
            (0, nil, nil, .tooFew(known: 0, needed: 7200)),
            (7199, .completed, 100, .tooFew(known: 7199, needed: 7200)),
            (8000, .queued, 8000, .analyse), (8000, .sending, 8000, .analyse),
            (8001, .accepted, 8000, .underWay),
            (8000, .completed, 8000, .analysed), (7999, .completed, 8000, .analysed),
            (8001, .completed, 8000, .analyse),
            (8000, .failed, 8000, .failedBefore), (8001, .failed, 8000, .analyse),
            (8000, .unconfirmed, 8000, .failedBefore), (8001, .unconfirmed, 8000, .analyse),
        ] as [(Int, AnalysisState?, Int?, WeekVerdict)])
    func `a week is analysed once, and anew when more of it is known`(
        known: Int, state: AnalysisState?, before: Int?, verdict: WeekVerdict
    ) {
        let former = state.map { ($0, before ?? 0) }

        let found = WeekVerdict(known: known, needed: 7200, former: former)

        #expect(found == verdict)
        #expect((found.reason == nil) == (verdict == .analyse))
    }

    @Test(arguments: [
        (WeekVerdict.tooFew(known: 3, needed: 7200), "3 of its minutes are known, 7200 are needed"),
        (.underWay, "the backend is still at it"),
        (.analysed, "it was analysed already, and no more of it is known now"),
        (.failedBefore, "it could not be analysed before, and no more of it is known now"),
    ])
    func `what is not analysed has a reason`(verdict: WeekVerdict, reason: String) {
        #expect(verdict.reason == reason)
    }
}
