import Platform

/// The id of a resource on a FHIR server: a keyed hash of 16 bytes.
///
/// It may stand in the address and the log of a server: nobody without the key can test a guess of a
/// value with it. A change of the master key leaves it as it is, and another machine with the same
/// first key makes the same.
public struct FHIRID: Hashable, Comparable, Sendable {
    /// The first 8 bytes.
    public let high: UInt64
    /// The last 8 bytes.
    public let low: UInt64

    public init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    /// Makes a UUID of version 8 (RFC 9562) of a hash.
    fileprivate init(_ hash: UInt128) {
        high = UInt64(truncatingIfNeeded: hash >> 64) & ~0xF000 | 0x8000
        low = UInt64(truncatingIfNeeded: hash) & ~(0x3 << 62) | 0x2 << 62
    }

    /// Parses what `text` returns; `nil` for anything else.
    public init?(_ text: some StringProtocol) {
        var (hash, count) = (UInt128(0), 0)
        for byte in text.utf8 {
            let isHyphen = [8, 13, 18, 23].contains(count)
            count += 1
            guard !isHyphen else {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            let digit: UInt8
            switch byte {
            case 0x30...0x39: digit = byte - 0x30
            case 0x61...0x66: digit = byte - 0x57
            default: return nil
            }
            hash = hash << 4 | UInt128(digit)
        }
        guard count == 36 else { return nil }
        high = UInt64(truncatingIfNeeded: hash >> 64)
        low = UInt64(truncatingIfNeeded: hash)
    }

    /// The id as a UUID.
    public var text: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends `text`.
    package func append(to bytes: inout [UInt8]) {
        for place in 0..<16 {
            switch place {
            case 4, 6, 8, 10: bytes.append(UInt8(ascii: "-"))
            default: break
            }
            let half = place < 8 ? high : low
            bytes.append(
                hexDigitsOf: UInt8(truncatingIfNeeded: half >> UInt64(56 - 8 * (place & 7))))
        }
    }

    public static func < (one: FHIRID, other: FHIRID) -> Bool {
        (one.high, one.low) < (other.high, other.low)
    }
}

/// Makes ids of the records of a segment, in their order, that every reading gives them again.
///
/// An id is a hash of everything in a record but where the clocks stood, under a key of the account.
/// So two accounts with the same record have different ids.
package struct RecordIDs {
    private let blindIndexes: RecordTags
    private var start = Int64.min
    /// How many records with the present start have each hash.
    private var copies: [UInt128: UInt128] = [:]

    package init(_ segment: Segment, of type: String, in store: HealthStore) {
        let key = store.cipher.firstKey(of: "record ids of \(type)")
        blindIndexes = RecordTags(key, segment.texts)
    }

    /// Returns the id of the next record. A record that the segment has twice has another one each
    /// time.
    package mutating func next(_ record: ArchivedRecord) -> FHIRID {
        if record.start != start {
            start = record.start
            copies.removeAll(keepingCapacity: true)
        }
        let blindIndex = blindIndexes.blindIndex(of: record)
        let copy = copies[blindIndex, default: 0]
        copies[blindIndex] = copy + 1
        return FHIRID(blindIndex &+ copy)
    }
}

/// Makes ids of what is no single record, and digests of contents, under a key of the account.
package struct KeyedHash: Sendable {
    private let tags: RecordTags

    /// - Parameter purpose: what is hashed, so that no two purposes share a hash.
    package init(of purpose: String, in store: HealthStore) {
        tags = RecordTags(store.cipher.firstKey(of: purpose))
    }

    /// Returns the id of what is known by texts and a number.
    package func id(of texts: [UInt8]..., at number: Int64 = 0) -> FHIRID {
        var bytes: [UInt8] = []
        for text in texts {
            bytes.append(littleEndian: UInt64(text.count))
            bytes += text
        }
        bytes.append(littleEndian: number)
        return FHIRID(tags.hash(bytes))
    }

    package func digest(of bytes: [UInt8]) -> UInt64 {
        UInt64(truncatingIfNeeded: tags.hash(bytes))
    }
}
