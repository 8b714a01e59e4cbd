import Testing

@testable import Import

@Suite struct DayPartsTests {
    private let steps = DayQuantity.all[0]

    @Test func `records are read back in the order of time, whatever order they came in`() {
        var parts = DayParts()
        let starts: [Int64] = [-5_000_000_000, 86_400, 7, 3, 2_419_199]
        for start in starts {
            #expect(parts.add(12.34, steps, source: 3, start: start, end: start) == nil)
        }

        #expect(parts.settle() == 0)

        #expect(parts.keys.map(\.period) == [-2067, 0])
        #expect(parts.keys.map(\.source) == [3, 3])
        let read = parts.parts(of: steps, 0).flatMap(\.parts)
        #expect(read.map(\.start) == [3, 7, 86_400, 2_419_199])
        #expect(read.allSatisfy { $0.amount == 1234 && $0.isInstant })
        #expect(parts.parts(of: steps, -2067).flatMap(\.parts).map(\.start) == [-5_000_000_000])
    }

    @Test func `a record is in every period that it touches`() {
        var parts = DayParts()

        #expect(parts.add(5, steps, source: 0, start: 2_419_100, end: 2_419_201) == nil)
        #expect(parts.add(5, steps, source: 0, start: 2_419_100, end: 2_419_200) == nil)

        #expect(parts.parts(of: steps, 0).flatMap(\.parts).count == 2)
        #expect(parts.parts(of: steps, 1).flatMap(\.parts).map(\.end) == [2_419_201])
    }

    @Test func `there is room for so many bytes and no more`() {
        var parts = DayParts(capacity: 8)

        #expect(parts.add(5, steps, source: 0, start: 0, end: 60) == nil)
        #expect(parts.add(5, steps, source: 0, start: 60, end: 120) == nil)
        #expect(parts.add(5, steps, source: 0, start: 120, end: 180) == .tooManyDays)
        #expect(parts.add(5, steps, source: 1, start: 2_419_100, end: 2_419_201) == .tooManyDays)

        #expect(parts.parts(of: steps, 0).flatMap(\.parts).map(\.start) == [0, 60])
        #expect(parts.keys.map(\.source) == [0])
    }
}
