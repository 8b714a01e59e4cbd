@testable import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("What held a job back, summed up")
struct HoldSummaryTests {
    private func span(
        _ subject: String, run: Int64, _ since: Int64, _ until: Int64?
    ) -> DeferralSpan {
        DeferralSpan(
            Deferral(.constraint, subject: subject, wanted: "", measured: "", source: ""),
            of: RunID(run), since: .noon + .seconds(since),
            until: until.map { .noon + .seconds($0) })
    }

    private func sums(_ spans: DeferralSpan...) -> [HoldSummary] {
        HoldSummary.sums(of: spans, from: .noon, until: .noon + .seconds(1000))
    }

    @Test func `spans are counted by subject, the longest first`() {
        let sums = sums(
            span("idle", run: 1, 0, 10), span("network", run: 1, 0, 100),
            span("idle", run: 2, 20, 40), span("idle", run: 2, 50, 56))

        #expect(
            sums == [
                HoldSummary(
                    reason: .constraint, subject: "network", spans: 1, total: .seconds(100),
                    runs: 1,
                    ended: 1, median: .seconds(100)),
                HoldSummary(
                    reason: .constraint, subject: "idle", spans: 3, total: .seconds(36), runs: 2,
                    ended: 3, median: .seconds(10)),
            ])
    }

    @Test func `a subject that held a run back for two reasons has a sum for each`() {
        func span(_ reason: WaitReason, _ since: Int64, _ until: Int64) -> DeferralSpan {
            DeferralSpan(
                Deferral(reason, subject: "group nas", wanted: "", measured: "", source: ""),
                of: RunID(1), since: .noon + .seconds(since), until: .noon + .seconds(until))
        }

        let sums = sums(span(.overlap, 0, 30), span(.backoff, 30, 120), span(.overlap, 120, 125))

        #expect(sums.map(\.reason) == [.backoff, .overlap])
        #expect(sums.map(\.total) == [.seconds(90), .seconds(35)])
        #expect(sums.map(\.spans) == [1, 2])
        #expect(sums.map(\.median) == [.seconds(90), .seconds(5)])
    }

    @Test func `what two runs waited at the same time counts once`() {
        let sums = sums(span("idle", run: 1, 0, 100), span("idle", run: 2, 50, 120))

        #expect(sums.first?.total == .seconds(120))
        #expect(sums.first?.median == .seconds(70))
    }

    @Test func `only what lies in the stretch counts, but lengths are whole`() {
        let sums = sums(
            span("idle", run: 1, -100, 10), span("idle", run: 2, 990, nil),
            span("idle", run: 3, -10, 0), span("idle", run: 4, 1000, nil))

        #expect(
            sums == [
                HoldSummary(
                    reason: .constraint, subject: "idle", spans: 2, total: .seconds(20), runs: 2,
                    ended: 1, median: .seconds(110))
            ])
    }
}
