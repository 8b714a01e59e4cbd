import Platform
import CSodium

/// What tells two sets of records apart without their order: how many there are, and the sum of
/// their keyed hashes.
package struct Fingerprint: Hashable, Sendable {
    var count: UInt64 = 0
    var sum: UInt128 = 0

    mutating func add(_ blindIndex: UInt128) {
        count &+= 1
        sum &+= blindIndex
    }
}

/// Hashes records under a key (SipHash-2-4 with 128 bits), so that nobody without the key can make
/// two that collide.
struct RecordTags: Hashable, Sendable {
    let key: [UInt8]
    private var textTags: [UInt64] = []

    /// - Parameter key: 16 bytes.
    init(_ key: [UInt8], _ texts: TextTable = TextTable()) {
        self.key = key
        textTags.reserveCapacity(texts.count)
        add(texts)
    }

    /// Hashes the texts that a table has got since the last call.
    mutating func add(_ texts: TextTable) {
        while textTags.count < texts.count {
            let text = texts[UInt32(textTags.count)]
            textTags.append(UInt64(truncatingIfNeeded: hash(text)))
        }
    }

    /// Returns the hash of everything in a record but where the clocks stood.
    func blindIndex(of record: ArchivedRecord) -> UInt128 {
        var words: InlineArray<7, UInt64> = .init(repeating: 0)
        words[0] = UInt64(bitPattern: record.start)
        words[1] = UInt64(bitPattern: record.end)
        words[2] = record.created.map { UInt64(bitPattern: $0) } ?? .max
        words[3] = textTags[Int(record.origin)]
        words[4] = record.metadata.map { textTags[Int($0)] } ?? 0
        switch record.value {
        case .none: words[5] = .max
        case .number(let mantissa, let decimals):
            (words[5], words[6]) = (UInt64(decimals), UInt64(bitPattern: mantissa))
        case .text(let index): (words[5], words[6]) = (.max - 1, textTags[Int(index)])
        }
        return withUnsafeBytes(of: &words) { hash($0) }
    }

    func fingerprint(of records: some Sequence<ArchivedRecord>) -> Fingerprint {
        records.reduce(into: Fingerprint()) { $0.add(blindIndex(of: $1)) }
    }

    func hash(_ bytes: [UInt8]) -> UInt128 { bytes.withUnsafeBytes { hash($0) } }

    func hash(_ numbers: [UInt128]) -> UInt128 { numbers.withUnsafeBytes { hash($0) } }

    private func hash(_ bytes: UnsafeRawBufferPointer) -> UInt128 {
        var out: UInt128 = 0
        withUnsafeMutableBytes(of: &out) { target in
            guard let target = target.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                return
            }
            _ = crypto_shorthash_siphashx24(
                target, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
                UInt64(bytes.count), key)
        }
        return out
    }
}

/// Makes ids of the records of a segment, in their order, that every export gives them again.
///
/// An id is a hash without a secret of everything in a record but where the clocks stood. Whoever
/// has it can test guesses of the value, so it belongs only beside the value.
package struct RecordIDs {
    private let blindIndexes: RecordTags
    private var start = Int64.min
    /// How many records with the present start have each hash.
    private var copies: [UInt128: UInt128] = [:]

    package init(_ segment: Segment, type: String) {
        let key = Cipher.hash(
            Array(type.utf8), under: Array("clarity-jobs record id".utf8), count: 16)
        blindIndexes = RecordTags(key, segment.texts)
    }

    /// Appends the id of the next record as a UUID (version 8 of RFC 9562). A record that the
    /// segment has twice has another one each time.
    package mutating func appendNext(_ record: ArchivedRecord, to bytes: inout [UInt8]) {
        if record.start != start {
            start = record.start
            copies.removeAll(keepingCapacity: true)
        }
        let blindIndex = blindIndexes.blindIndex(of: record)
        let copy = copies[blindIndex, default: 0]
        copies[blindIndex] = copy + 1
        var id = blindIndex &+ copy
        id = id & ~(0xF << 76) | 0x8 << 76
        id = id & ~(0x3 << 62) | 0x2 << 62
        withUnsafeBytes(of: id.bigEndian) { parts in
            for (index, part) in parts.enumerated() {
                if [4, 6, 8, 10].contains(index) { bytes.append(UInt8(ascii: "-")) }
                bytes.append(hexDigitsOf: part)
            }
        }
    }
}
