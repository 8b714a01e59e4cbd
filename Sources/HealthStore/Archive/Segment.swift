import Platform
import CSodium

/// A record of the archive. Texts stand in a table beside it, so that a million records are a million
/// small values without a reference.
public struct ArchivedRecord: Hashable, Sendable {
    /// What the record's value is.
    public enum Value: Hashable, Sendable {
        case none
        /// A decimal number, as it was written: `mantissa` with `decimals` digits after the point.
        case number(mantissa: Int64, decimals: UInt8)
        /// Any other text, by its index.
        case text(UInt32)
    }

    /// Instants in seconds since 1970-01-01T00:00:00Z.
    public package(set) var start: Int64
    public package(set) var end: Int64
    public package(set) var created: Int64?
    /// Where the clocks stood that wrote the three instants. Another export of the same records has
    /// others, so they tell no two records apart.
    package var offsets: ClockOffsets
    /// The index of the text that `RecordOrigin` reads: source, version, device and unit.
    package var origin: UInt32
    public package(set) var value: Value
    /// The index of the text with names and values of metadata; `nil` for a record without any.
    package var metadata: UInt32?

    package init(
        start: Int64, end: Int64, created: Int64?, offsets: ClockOffsets, origin: UInt32,
        value: Value, metadata: UInt32? = nil
    ) {
        self.start = start
        self.end = end
        self.created = created
        self.offsets = offsets
        self.origin = origin
        self.value = value
        self.metadata = metadata
    }
}

/// The offsets from UTC of a record's start, end and creation, in minutes.
package struct ClockOffsets: Hashable, Sendable {
    package var start: Int16
    package var end: Int16
    package var created: Int16

    package init(start: Int16 = 0, end: Int16 = 0, created: Int16 = 0) {
        self.start = start
        self.end = end
        self.created = created
    }
}

/// The records of one type and month, and the texts that they refer to.
public struct Segment: Sendable {
    /// The most records in a segment: more than a sensor that measures five times a second has in a
    /// month.
    static let mostRecords = 1 << 24

    public package(set) var records: [ArchivedRecord] = []
    package var texts = TextTable()

    package init() {}

    private typealias LastPlace = (index: UInt32, place: UInt32)?

    /// Adds records whose texts are in another table.
    mutating func add(_ others: some Sequence<ArchivedRecord>, textsIn table: TextTable) {
        var places: [UInt32: UInt32] = [:]
        func place(_ index: UInt32, _ last: inout LastPlace) -> UInt32 {
            if let last, last.index == index { return last.place }
            let place = places[index] ?? texts.index(of: table[index])
            places[index] = place
            last = (index, place)
            return place
        }
        // Neighbouring records nearly always have the same texts.
        var (origin, value, metadata): (LastPlace, LastPlace, LastPlace) = (nil, nil, nil)
        for var record in others {
            record.origin = place(record.origin, &origin)
            if case .text(let index) = record.value { record.value = .text(place(index, &value)) }
            record.metadata = record.metadata.map { place($0, &metadata) }
            records.append(record)
        }
    }

    /// Adds the records of another segment.
    mutating func add(_ other: Segment) {
        if records.isEmpty { self = other } else { add(other.records, textsIn: other.texts) }
    }

    /// Returns the segment or, if it has more text than that, segments of its records in their
    /// order, each with at most so many bytes of text or one record.
    func parts(ofText most: Int) -> [Segment] {
        guard texts.size > most else { return [self] }
        var parts: [Segment] = []
        var (from, size) = (0, 0)
        for (index, record) in records.enumerated() {
            var added = texts[record.origin].count
            if case .text(let value) = record.value { added += texts[value].count }
            if let metadata = record.metadata { added += texts[metadata].count }
            if size + added > most, index > from {
                parts.append(part(from..<index))
                (from, size) = (index, 0)
            }
            size += added
        }
        return parts + [part(from..<records.count)]
    }

    private func part(_ range: Range<Int>) -> Segment {
        var part = Segment()
        part.add(records[range], textsIn: texts)
        return part
    }

    /// Puts the records in the order of time, which compresses best.
    mutating func sort() {
        func isBefore(_ one: ArchivedRecord, _ other: ArchivedRecord) -> Bool {
            (one.start, one.end) < (other.start, other.end)
        }
        let isSorted = zip(records, records.dropFirst()).allSatisfy { !isBefore($1, $0) }
        if !isSorted { records.sort(by: isBefore) }
    }
}

/// Texts, each once, in the order in which they came.
package struct TextTable: Hashable, Sendable {
    /// A text that is hashed as a whole: an array would hash each of its bytes by itself.
    private struct Key: Hashable, Sendable {
        let text: [UInt8]

        func hash(into hasher: inout Hasher) {
            text.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
    }

    private(set) var texts: [[UInt8]] = []
    private var places: [Key: UInt32] = [:]
    /// The bytes of all texts.
    private(set) var size = 0

    package init() {}

    init(_ texts: [[UInt8]]) {
        self.texts = texts
        for (index, text) in texts.enumerated() { places[Key(text: text)] = UInt32(index) }
    }

    package var count: Int { texts.count }

    package subscript(index: UInt32) -> [UInt8] { texts[Int(index)] }

    /// Returns the index of a text, which is added if it is new.
    package mutating func index(of text: [UInt8]) -> UInt32 {
        let key = Key(text: text)
        if let known = places[key] { return known }
        let place = UInt32(texts.count)
        places[key] = place
        texts.append(text)
        size += text.count
        return place
    }
}

/// What many records have in common, as one text of the table.
package struct RecordOrigin: Hashable, Sendable {
    package var source: String?
    package var version: String?
    package var device: String?
    package var unit: String?
    /// The type, where it is no plain name and stands in no column.
    package var type: String?

    package init(
        source: String? = nil, version: String? = nil, device: String? = nil, unit: String? = nil,
        type: String? = nil
    ) {
        self.source = source
        self.version = version
        self.device = device
        self.unit = unit
        self.type = type
    }

    /// The parts, each with a byte 0 behind it; a part that is missing is a byte 2. No part has one
    /// of these bytes: control characters of ASCII, which XML does not allow but JSON does, become
    /// blanks.
    package var bytes: [UInt8] {
        [source, version, device, unit, type].flatMap { part in
            (part.map { $0.utf8.map { $0 < 0x20 ? 0x20 : $0 } } ?? [2]) + [0]
        }
    }

    package init(_ bytes: [UInt8]) {
        let parts = bytes.split(separator: 0, omittingEmptySubsequences: false).map { part in
            part.elementsEqual([2]) ? nil : String(decoding: part, as: UTF8.self)
        }
        func part(_ index: Int) -> String? { index < parts.count ? parts[index] : nil }
        self.init(source: part(0), version: part(1), device: part(2), unit: part(3), type: part(4))
    }
}

/// Why a segment cannot be read or written.
public enum ArchiveError: Error, Hashable, Sendable {
    /// The bytes are not those of a segment, or those of a newer release.
    case malformed
    case noMemory
}

/// A decimal number exactly as it was written.
package enum RecordNumber {
    /// The most digits after the point.
    package static let mostDecimals = 18

    /// Parses digits with at most one point among them, after an optional `-`.
    ///
    /// - Returns: `nil` for a number that `text` would write in another way, and for any other text.
    package static func parse(
        _ bytes: UnsafeBufferPointer<UInt8>
    ) -> (mantissa: Int64, decimals: UInt8)? {
        var index = 0
        let isNegative = bytes.first == UInt8(ascii: "-")
        if isNegative { index = 1 }
        let first = index
        var point: Int?
        var mantissa: Int64 = 0
        while index < bytes.count {
            let digit = bytes[index] &- 0x30
            if digit <= 9 {
                mantissa = mantissa &* 10 &+ Int64(digit)
            } else {
                guard bytes[index] == UInt8(ascii: "."), point == nil else { return nil }
                point = index
            }
            index += 1
        }
        let decimals = point.map { bytes.count - $0 - 1 } ?? 0
        let whole = (point ?? bytes.count) - first
        // At most 18 digits fit; a zero in front, or none, would be lost.
        guard whole >= 1, whole + decimals <= mostDecimals, point == nil || decimals > 0,
            whole == 1 || bytes[first] != UInt8(ascii: "0"), !isNegative || mantissa != 0
        else { return nil }
        return (isNegative ? -mantissa : mantissa, UInt8(decimals))
    }

    /// Returns the number as it was written.
    package static func text(mantissa: Int64, decimals: UInt8) -> String {
        var digits = String(mantissa.magnitude)
        let decimals = Int(decimals)
        if digits.utf8.count <= decimals {
            digits = String(repeating: "0", count: decimals + 1 - digits.utf8.count) + digits
        }
        if decimals > 0 {
            digits.insert(".", at: digits.index(digits.endIndex, offsetBy: -decimals))
        }
        return mantissa < 0 ? "-" + digits : digits
    }
}

extension Double {
    /// The number nearest to a decimal one. SQLite 3.40 and others are off by a digit at times.
    init(_ mantissa: Int64, decimals: UInt8) {
        // Both are exact below 2^53 and 10^22, so that the quotient is rounded once.
        if mantissa.magnitude < 1 << 53, decimals < Double.powers.count {
            self = Double(mantissa) / Double.powers[Int(decimals)]
        } else {
            self = Double(RecordNumber.text(mantissa: mantissa, decimals: decimals)) ?? .nan
        }
    }

    private static let powers: [Double] = (0...18).reduce(into: [1]) { powers, _ in
        powers.append((powers.last ?? 1) * 10)
    }
}

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
