import Testing

@testable import ClarityWorkers

@Suite struct RecentRecordsTests {
    @Test func `a record is known again by all that it is`() {
        var records = RecentRecords()
        func insert(
            _ lane: Int, _ source: Int, _ start: Int64, _ end: Int64, _ amount: Int64
        ) -> Bool {
            records.insert(lane: lane, source: source, start: start, end: end, amount: amount)
        }

        #expect(insert(1, 2, 100, 160, 5))
        #expect(!insert(1, 2, 100, 160, 5))
        #expect(insert(2, 2, 100, 160, 5))
        #expect(insert(1, 1, 100, 160, 5))
        #expect(insert(1, 2, 101, 160, 5))
        #expect(insert(1, 2, 100, 161, 5))
        #expect(insert(1, 2, 100, 160, 6))
        #expect(insert(0, 0, 0, 0, 0))
        #expect(!insert(0, 0, 0, 0, 0))
    }

    @Test func `copies a thousand records later are found, and no others`() {
        var records = RecentRecords()
        var found = 0
        for index in Int64(0)..<200_000 {
            let isFirst = records.insert(
                lane: 0, source: 0, start: index, end: index + 60, amount: index % 9)
            #expect(isFirst)
            guard index >= 1000, index % 100 == 0 else { continue }
            let copy = index - 1000
            let isNew = records.insert(
                lane: 0, source: 0, start: copy, end: copy + 60, amount: copy % 9)
            found += isNew ? 0 : 1
        }

        #expect(found >= 1980, "of 1,990")
    }
}
