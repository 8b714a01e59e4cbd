import Testing

@testable import HealthStore

@Suite struct BulkEncryptionTests {
    private let row: RowIdentity = {
        var row = RowIdentity("outbox")
        row.append("a row")
        return row
    }()

    @Test(arguments: 0...3)
    func `a short blind index is the blind index of 8 bytes, whatever keys there were before`(
        former: Int
    ) throws {
        let keys = (0..<former).map { [UInt8](repeating: UInt8($0 + 1), count: 32) }
        let cipher = try cipher(firstKey).with(formerKeys: keys)

        for text in ["", "a", String(repeating: "long ", count: 99)] {
            let blindIndex = cipher.shortIndex(Array(text.utf8))

            #expect(
                withUnsafeBytes(of: blindIndex) { Array($0) }
                    == cipher.blindIndex(Array(text.utf8), count: 8))
        }
    }

    @Test func `what is encrypted onto a buffer opens in its own row only`() throws {
        let cipher = try cipher(firstKey)
        let nonces = Cipher.nonces(3)
        var bytes: [UInt8] = [9]
        var ends = [1]

        for (index, plain) in [[1, 2, 3], [], [UInt8](repeating: 7, count: 200)].enumerated() {
            cipher.encrypt(
                plain, in: Padding.Sizes(floor: 64), for: row.bytes, nonces, index, onto: &bytes)
            ends.append(bytes.count)
        }

        let encrypted = zip(ends, ends.dropFirst()).map { Array(bytes[$0..<$1]) }
        #expect(encrypted.map(\.count) == [104, 104, 296])
        #expect(try cipher.open(encrypted[0], for: row) == [1, 2, 3])
        #expect(try cipher.open(encrypted[1], for: row) == [])
        #expect(try cipher.open(encrypted[2], for: row) == [UInt8](repeating: 7, count: 200))
        #expect(cipher.opened(encrypted[0], for: RowIdentity("outbox")) == nil)
    }

    @Test func `no two nonces are alike`() {
        let nonces = Cipher.nonces(1000)

        let single = stride(from: 0, to: nonces.count, by: 24).map { Array(nonces[$0..<$0 + 24]) }
        #expect(nonces.count == 24_000)
        #expect(Set(single).count == 1000)
        #expect(Cipher.nonces(0) == [])
    }
}
