import ClarityScheduler
import Database
import Testing

@testable import HealthStore
@testable import HealthModel

@Suite(.onBothEngines) struct AnalysesTests {
    private let folder = StateFolder()
    private let sunday = CivilDay(daysSince1970: 20_000)
    private let result = AnalysisResult(
        numbers: ["m10": 12.5, "l5": -1], embedding: [0.25, 4711], json: Array("{}".utf8))

    @Test func `an analysis is written down, sent, taken and completed`() throws {
        let store = try folder.open()

        let queued = try store.analyses.queue(of: sunday, as: .steps, knownMinutes: 9000, at: noon)
        try store.analyses.sending(queued)
        let sending = try #require(try store.analyses.newest(of: sunday, as: .steps))
        try store.analyses.accept(sending, processingID: "p-1", at: noon + .seconds(1))
        let open = try folder.open().analyses.open()
        try store.analyses.complete(
            try #require(open.first), processingID: "p-1", result, at: noon + .seconds(9))

        #expect(queued.state == .queued && queued.sends == 0 && queued.knownMinutes == 9000)
        #expect(sending.state == .sending && sending.sends == 1)
        #expect(open.map(\.processingID) == ["p-1"])
        #expect(open.map(\.acceptedAt) == [noon + .seconds(1)])
        #expect(try store.analyses.open().isEmpty)
        let latest = try #require(try folder.open().analyses.latestResult())
        #expect(latest.analysis.state == .completed && latest.analysis.lastDay == sunday)
        #expect(latest.result == result)
        #expect(!"\([latest.result])".contains("4711"))
    }

    @Test func `a week is taken up again until it is answered`() throws {
        let store = try folder.open()
        let first = try store.analyses.queue(of: sunday, as: .steps, knownMinutes: 9000, at: noon)
        try store.analyses.sending(first)

        let again = try store.analyses.queue(of: sunday, as: .steps, knownMinutes: 9500, at: noon)
        try store.analyses.sending(again)
        try store.analyses.notArrived(again)
        let inDoubt = try store.analyses.analysis(first.id)
        try store.analyses.notArrived(again)

        #expect(again.id == first.id && again.knownMinutes == 9500 && again.sends == 1)
        #expect(inDoubt?.state == .sending && inDoubt?.sends == 1)
        #expect(try store.analyses.analysis(first.id)?.state == .queued)
        #expect(try store.analyses.analysis(first.id)?.sends == 0)
    }

    @Test func `a week that was answered stays, and another has a row of its own`() throws {
        let store = try folder.open()
        let first = try store.analyses.queue(of: sunday, as: .steps, knownMinutes: 9000, at: noon)
        try store.analyses.sending(first)
        try store.analyses.complete(first, processingID: "p-1", result, at: noon)

        let more = try store.analyses.queue(of: sunday, as: .steps, knownMinutes: 9500, at: noon)
        let other = try store.analyses.queue(
            of: sunday, as: .actigraphy, knownMinutes: 9500, at: noon)

        #expect(Set([first.id, more.id, other.id]).count == 3)
        #expect(try store.analyses.analysis(first.id)?.state == .completed)
        // The same week in another form replaces the one that was never sent.
        #expect(try store.analyses.analysis(more.id)?.state == .failed)
        #expect(try store.analyses.newest(of: sunday, as: .actigraphy)?.id == other.id)
    }

    @Test func `a later week takes the place of one that was not answered`() throws {
        let store = try folder.open()
        let first = try store.analyses.queue(of: sunday, as: .steps, knownMinutes: 9000, at: noon)
        let monday = CivilDay(daysSince1970: 20_001)

        let second = try store.analyses.queue(of: monday, as: .steps, knownMinutes: 9000, at: noon)

        #expect(try store.analyses.analysis(first.id)?.state == .failed)
        #expect(try store.analyses.analysis(second.id)?.state == .queued)
    }

    @Test func `what another process settled is left as it is`() throws {
        let store = try folder.open()
        let analysis = try store.analyses.queue(
            of: sunday, as: .steps, knownMinutes: 9000, at: noon)
        try store.analyses.sending(analysis)
        try store.analyses.complete(analysis, processingID: "p-1", result, at: noon)

        try store.analyses.fail(analysis, reason: "late", at: noon)
        try store.analyses.accept(analysis, processingID: "p-2", at: noon)
        try store.analyses.notArrived(analysis)

        let kept = try #require(try store.analyses.analysis(analysis.id))
        #expect(kept.state == .completed && kept.processingID == "p-1" && kept.sends == 1)
    }

    @Test func `the latest week's result counts, and of two that came last`() throws {
        let store = try folder.open()
        for (day, name) in [(20_001, "new"), (20_000, "old"), (20_001, "newest")] {
            let analysis = try store.analyses.queue(
                of: CivilDay(daysSince1970: day), as: .steps, knownMinutes: 9000, at: noon)
            try store.analyses.sending(analysis)
            try store.analyses.complete(
                analysis, processingID: name, AnalysisResult(numbers: [name: 1], json: []),
                at: noon)
        }

        #expect(try store.analyses.latestResult()?.result.numbers == ["newest": 1])
    }

    @Test func `the analyses are listed by week, without those that are damaged`() throws {
        let store = try folder.open()
        for day in [20_001, 20_008, 20_015] {
            let analysis = try store.analyses.queue(
                of: CivilDay(daysSince1970: day), as: .steps, knownMinutes: 9000, at: noon)
            try store.analyses.sending(analysis)
            try store.analyses.complete(
                analysis, processingID: "p-\(day)", result, at: noon + .seconds(1))
        }
        let last = try store.analyses.queue(
            of: CivilDay(daysSince1970: 20_022), as: .steps, knownMinutes: 9000, at: noon)
        try store.analyses.fail(last, reason: "too few", at: noon)
        try store.access { try $0.run("UPDATE analyses SET sealed = x'00' WHERE id = 2") }
        func days(_ first: Int, _ last: Int) -> ClosedRange<CivilDay> {
            CivilDay(daysSince1970: first)...CivilDay(daysSince1970: last)
        }

        let all = try store.analyses.entries(ofWeeksEndingIn: days(20_001, 20_022), limit: 9)
        let some = try store.analyses.entries(ofWeeksEndingIn: days(20_002, 20_021), limit: 9)
        let one = try store.analyses.entries(
            ofWeeksEndingIn: days(0, 30_000), number: 1, limit: 9)
        let newest = try store.analyses.entries(ofWeeksEndingIn: days(0, 30_000), limit: 1)

        #expect(all.entries.map(\.analysis.id) == [4, 3, 1])
        #expect(all.damaged.map(\.row) == ["2"])
        #expect(all.entries.map(\.reason) == ["too few", nil, nil])
        #expect(all.entries.map(\.result) == [nil, result, result])
        #expect(all.entries.map(\.finishedAt) == [noon, noon + .seconds(1), noon + .seconds(1)])
        #expect(all.entries.allSatisfy { $0.madeAt == noon && $0.insightID == nil })
        #expect(some.entries.map(\.analysis.id) == [3] && some.damaged.count == 1)
        #expect(one.entries.map(\.analysis.id) == [1] && one.damaged.isEmpty)
        #expect(newest.entries.map(\.analysis.id) == [4])
    }

    @Test func `a result opens in no other row`() throws {
        let store = try folder.open()
        let analysis = try store.analyses.queue(
            of: sunday, as: .steps, knownMinutes: 9000, at: noon)
        try store.analyses.sending(analysis)
        try store.analyses.complete(analysis, processingID: "p-1", result, at: noon)
        try store.access { try $0.execute("UPDATE analyses SET last_day = last_day + 1") }

        let error = #expect(throws: HealthStoreError.self) { try store.analyses.latestResult() }

        #expect(
            error?.description.hasSuffix("the encrypted value of row `1` in `analyses` is damaged")
                == true)
    }

    @Test func `a result that is cut short is none`() {
        let whole = result.encryptedForm

        #expect(AnalysisResult(encryptedForm: whole) == result)
        for count in 0..<whole.count - result.json.count {
            #expect(AnalysisResult(encryptedForm: Array(whole.prefix(count))) == nil)
        }
    }

    @Test func `what the backend was asked is kept with its last word`() throws {
        let store = try folder.open()
        let analysis = try store.analyses.queue(
            of: sunday, as: .steps, knownMinutes: 9000, at: noon)
        _ = try store.outbox.enqueue(heartRates(0..<1))
        let batch = try #require(try store.outbox.nextBatch(limit: 1, at: noon))
        try store.outbox.settle(batch, processingID: "u-1", at: noon)
        let upload = OpenWork.upload(try #require(try store.outbox.openUploads().first))

        let never = try store.questions(about: upload)
        try store.noteAsked(about: upload, "received", at: noon + .seconds(1))
        let twice = try store.noteAsked(about: upload, "processing, 30 %", at: noon + .seconds(2))
        try store.noteAsked(about: .analysis(analysis), "not found", at: noon)

        #expect(never.text == "never asked")
        #expect(
            twice
                == Questions(count: 2, lastAt: noon + .seconds(2), lastWord: "processing, 30 %"))
        #expect(twice.text == "asked 2 times, last word: processing, 30 %")
        #expect(
            try folder.open().analyses.analysis(analysis.id)?.questions.text
                == "asked 1 time, last word: not found")
    }

    @Test func `the audit log says what went and what came`() throws {
        let store = try folder.open()
        let analysis = try store.analyses.queue(
            of: sunday, as: .steps, knownMinutes: 9000, at: noon)
        try store.analyses.sending(analysis)
        try store.analyses.complete(analysis, processingID: "p-1", result, at: noon)

        let entries = try store.audit.records(limit: 9).compactMap(\.entry)

        #expect(entries.map(\.action) == [.sent, .read])
        #expect(entries.map(\.counts) == [["step_minutes": 9000], ["analyses": 1]])
    }
}
