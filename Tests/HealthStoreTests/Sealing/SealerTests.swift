import Testing

@testable import HealthStore

@Suite struct SealerTests {
    private let sealer: Sealer
    private let row: RowIdentity

    init() throws {
        sealer = try Sealer(
            MasterKey(content: [UInt8](repeating: 1, count: 32), origin: "a test"))
        var row = RowIdentity("outbox")
        row.append("heart_rate")
        self.row = row
    }

    @Test(arguments: [
        (0, 64), (1, 64), (63, 64), (64, 128), (127, 128), (128, 256), (1000, 1024),
    ])
    func `what was sealed opens in its row, and its length is a size class`(
        count: Int, size: Int
    ) throws {
        let plain = [UInt8](repeating: 0, count: count)

        let sealed = sealer.seal(plain, for: row)

        #expect(sealed.count == size + 40)
        #expect(try sealer.open(sealed, for: row) == plain)
    }

    @Test func `the same value never looks the same`() {
        #expect(sealer.seal([1, 2], for: row) != sealer.seal([1, 2], for: row))
    }

    @Test func `every flipped bit is noticed`() {
        let sealed = sealer.seal([1, 2, 3], for: row)

        for bit in 0..<(sealed.count * 8) {
            var changed = sealed
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: SealingError(table: "outbox")) { try sealer.open(changed, for: row) }
        }
    }

    @Test(arguments: [0, 1, 39, 40])
    func `a cut value is noticed`(count: Int) {
        let sealed = sealer.seal([1, 2, 3], for: row)

        #expect(throws: SealingError(table: "outbox")) {
            try sealer.open(Array(sealed[..<count]), for: row)
        }
    }

    @Test func `a value does not open in another row or table or with another key`() throws {
        let sealed = sealer.seal([1, 2, 3], for: row)
        var other = RowIdentity("outbox")
        other.append("heart_rat")
        other.append("e")
        let stranger = try Sealer(
            MasterKey(content: [UInt8](repeating: 2, count: 32), origin: "a test"))

        #expect(throws: SealingError.self) { try sealer.open(sealed, for: other) }
        #expect(throws: SealingError.self) { try sealer.open(sealed, for: RowIdentity("metrics")) }
        #expect(throws: SealingError.self) { try stranger.open(sealed, for: row) }
    }

    @Test func `a tag goes on to the next key without the bytes`() throws {
        let second = try MasterKey(content: [UInt8](repeating: 2, count: 32), origin: "a test")
        let third = try MasterKey(content: [UInt8](repeating: 3, count: 32), origin: "a test")
        let next = try sealer.followed(by: second)
        let last = try next.followed(by: third)

        let tag = sealer.tag([1, 2], count: 8)

        #expect(next.tag([1, 2], count: 8) == next.tag(following: tag))
        #expect(last.tag([1, 2], count: 8) == last.tag(following: next.tag(following: tag)))
        #expect(next.tag([1, 2], count: 8) != tag)
        // The new key alone continues tags, but cannot make them from the bytes.
        #expect(try Sealer(second).tag(following: tag) == next.tag([1, 2], count: 8))
        #expect(try Sealer(second).tag([1, 2], count: 8) != next.tag([1, 2], count: 8))
    }

    @Test func `a tag depends on the bytes and on the key`() throws {
        let stranger = try Sealer(
            MasterKey(content: [UInt8](repeating: 2, count: 32), origin: "a test"))

        #expect(sealer.tag([1], count: 8) == sealer.tag([1], count: 8))
        #expect(sealer.tag([1], count: 8).count == 8)
        #expect(sealer.tag([1], count: 8) != sealer.tag([2], count: 8))
        #expect(sealer.tag([1], count: 8) != stranger.tag([1], count: 8))
    }
}
