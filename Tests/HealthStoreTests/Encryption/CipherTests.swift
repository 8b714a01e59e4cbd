import Testing

@testable import HealthStore

@Suite struct CipherTests {
    private let cipher: Cipher
    private let row: RowIdentity

    init() throws {
        cipher = try Cipher(
            MasterKey(content: [UInt8](repeating: 1, count: 32), origin: "a test"))
        var row = RowIdentity("outbox")
        row.append("heart_rate")
        self.row = row
    }

    @Test(arguments: [
        (0, 64), (1, 64), (63, 64), (64, 128), (127, 128), (128, 256), (1000, 1024),
    ])
    func `what was encrypted opens in its row, and its length is a size class`(
        count: Int, size: Int
    ) throws {
        let plain = [UInt8](repeating: 0, count: count)

        let encrypted = cipher.encrypt(plain, for: row)

        #expect(encrypted.count == size + 40)
        #expect(try cipher.open(encrypted, for: row) == plain)
    }

    @Test func `the same value never looks the same`() {
        #expect(cipher.encrypt([1, 2], for: row) != cipher.encrypt([1, 2], for: row))
    }

    @Test func `every flipped bit is noticed`() {
        let encrypted = cipher.encrypt([1, 2, 3], for: row)

        for bit in 0..<(encrypted.count * 8) {
            var changed = encrypted
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: EncryptionError(table: "outbox")) { try cipher.open(changed, for: row) }
        }
    }

    @Test(arguments: [0, 1, 39, 40])
    func `a cut value is noticed`(count: Int) {
        let encrypted = cipher.encrypt([1, 2, 3], for: row)

        #expect(throws: EncryptionError(table: "outbox")) {
            try cipher.open(Array(encrypted[..<count]), for: row)
        }
    }

    @Test func `a value does not open in another row or table or with another key`() throws {
        let encrypted = cipher.encrypt([1, 2, 3], for: row)
        var other = RowIdentity("outbox")
        other.append("heart_rat")
        other.append("e")
        let stranger = try Cipher(
            MasterKey(content: [UInt8](repeating: 2, count: 32), origin: "a test"))

        #expect(throws: EncryptionError.self) { try cipher.open(encrypted, for: other) }
        #expect(throws: EncryptionError.self) {
            try cipher.open(encrypted, for: RowIdentity("metrics"))
        }
        #expect(throws: EncryptionError.self) { try stranger.open(encrypted, for: row) }
    }

    @Test func `a blind index goes on to the next key without the bytes`() throws {
        let second = try MasterKey(content: [UInt8](repeating: 2, count: 32), origin: "a test")
        let third = try MasterKey(content: [UInt8](repeating: 3, count: 32), origin: "a test")
        let next = try cipher.followed(by: second)
        let last = try next.followed(by: third)

        let blindIndex = cipher.blindIndex([1, 2], count: 8)

        #expect(next.blindIndex([1, 2], count: 8) == next.blindIndex(following: blindIndex))
        #expect(
            last.blindIndex([1, 2], count: 8)
                == last.blindIndex(following: next.blindIndex(following: blindIndex)))
        #expect(next.blindIndex([1, 2], count: 8) != blindIndex)
        // The new key alone continues blind indexes, but cannot make them from the bytes.
        #expect(
            try Cipher(second).blindIndex(following: blindIndex)
                == next.blindIndex([1, 2], count: 8))
        #expect(
            try Cipher(second).blindIndex([1, 2], count: 8) != next.blindIndex([1, 2], count: 8))
    }

    @Test func `a blind index depends on the bytes and on the key`() throws {
        let stranger = try Cipher(
            MasterKey(content: [UInt8](repeating: 2, count: 32), origin: "a test"))

        #expect(cipher.blindIndex([1], count: 8) == cipher.blindIndex([1], count: 8))
        #expect(cipher.blindIndex([1], count: 8).count == 8)
        #expect(cipher.blindIndex([1], count: 8) != cipher.blindIndex([2], count: 8))
        #expect(cipher.blindIndex([1], count: 8) != stranger.blindIndex([1], count: 8))
    }
}
