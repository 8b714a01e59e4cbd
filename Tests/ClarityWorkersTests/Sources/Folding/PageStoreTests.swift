import Testing

@testable import ClarityWorkers

@Suite struct PageStoreTests {
    @Test func `a key gives its parts again`() {
        for day in [-25_567, -1, 0, 20_000, 73_000] {
            for (lane, source) in [(0, 0), (31, 4097), (127, 8191)] {
                let key = PageKey(day: day, lane: lane, source: source)
                #expect(key.day == day && key.lane == lane && key.source == source)
            }
        }
        #expect(PageKey(day: -1, lane: 127, source: 8191) < PageKey(day: 0, lane: 0, source: 0))
        #expect(PageKey(day: 1, lane: 1, source: 9) < PageKey(day: 1, lane: 2, source: 0))
    }

    @Test func `ten thousand pages keep their own sums`() {
        var store = PageStore(capacity: 20_000)
        for round in 1...2 {
            for index in 0..<10_000 {
                let key = PageKey(day: index / 10, lane: index % 5, source: index % 2)
                guard let place = store.place(of: key) else {
                    Issue.record("no room")
                    return
                }
                store.add(Int64(index * round), to: place, slot: index % PageStore.slots)
            }
        }

        #expect(store.keys.count == 10_000)
        for (place, key) in store.keys.enumerated() {
            let last = (0..<10).first { $0 % 5 == key.lane && $0 % 2 == key.source } ?? 0
            let index = key.day * 10 + last
            #expect(store.page(place)[index % PageStore.slots] == UInt32(index * 3))
            #expect(store.page(place).reduce(0) { $0 + Int($1) } == index * 3)
        }
    }

    @Test func `there are no more pages than the capacity`() {
        var store = PageStore(capacity: 2)

        #expect(store.place(of: PageKey(day: 1, lane: 0, source: 0)) == 0)
        #expect(store.place(of: PageKey(day: 2, lane: 0, source: 0)) == 1)
        #expect(store.place(of: PageKey(day: 3, lane: 0, source: 0)) == nil)
        #expect(store.place(of: PageKey(day: 1, lane: 0, source: 0)) == 0)
    }

    @Test func `a sum is cut where it fits no more, and a slot beyond the page is its last`() throws
    {
        var store = PageStore(capacity: 1)
        let found = store.place(of: PageKey(day: 1, lane: 0, source: 0))
        let place = try #require(found)

        store.add(4_000_000_000, to: place, slot: 3)
        store.add(4_000_000_000, to: place, slot: 3)
        store.add(7, to: place, slot: 93)

        #expect(store.page(place)[3] == .max)
        #expect(store.page(place)[PageStore.slots - 1] == 7)
    }
}
