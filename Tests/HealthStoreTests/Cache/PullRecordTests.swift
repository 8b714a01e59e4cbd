import ClarityTestSupport
import Testing

@testable import HealthStore
@testable import ClarityScheduler

@Suite(.onBothEngines) struct PullRecordTests {
    private let folder = StateFolder()

    @Test func `each part has its own record, and nothing is known at first`() throws {
        let store = try folder.open()

        try store.cache.notePull(of: .insights, isWhole: true, at: noon)

        #expect(try store.cache.pullRecord(of: .metrics) == PullRecord())
        #expect(try store.cache.pullRecord(of: .insights).endedAt == noon)
        #expect(try store.cache.pullRecord(of: .insights).wholeAt == noon)
    }

    @Test func `a pull of what is new leaves when everything was last gone through`() throws {
        let store = try folder.open()
        try store.cache.notePull(of: .metrics, isWhole: true, at: noon)
        try store.cache.storePullPlace("page 7", of: .metrics)

        try store.cache.notePull(of: .metrics, isWhole: false, at: noon + .seconds(5))

        let record = try folder.open().cache.pullRecord(of: .metrics)
        #expect(record.endedAt == noon + .seconds(5))
        #expect(record.wholeAt == noon)
        #expect(record.place == "page 7")
    }

    @Test func `a pull through everything has no place any more`() throws {
        let store = try folder.open()
        try store.cache.storePullPlace("page 7", of: .metrics)
        #expect(try store.cache.pullRecord(of: .metrics).place == "page 7")

        try store.cache.notePull(of: .metrics, isWhole: true, at: noon)

        #expect(try store.cache.pullRecord(of: .metrics).place == nil)
    }

    @Test func `the last reading of any source is known`() throws {
        let store = try folder.open()
        #expect(try store.outbox.lastSourceReading() == nil)
        for (name, second) in [("/a", 9), ("/b", 5)] {
            let stamp = try #require(
                SourceStamp(
                    path: "/proc/self/exe", reader: "1", at: Instant(secondsSince1970: 1 << 33)))
            try store.outbox.noteRead(name, stamp, at: noon + .seconds(second))
        }

        #expect(try store.outbox.lastSourceReading() == noon + .seconds(9))
    }

    @Test func `a reading of what is no single file is the last one too`() throws {
        let clock = ManualClock(noon)
        let store = try folder.open(clock: clock)
        let reading = try store.outbox.beginReading(of: "/spool")
        #expect(try store.outbox.lastSourceReading() == nil)

        try store.outbox.end(reading, ReadingCounts(), ReadingReasons())

        #expect(try store.outbox.lastSourceReading() == noon)
        clock.set(noon + .seconds(60))
        try store.outbox.interrupt(try store.outbox.beginReading(of: "/spool"))
        #expect(try store.outbox.lastSourceReading() == noon)
    }
}
