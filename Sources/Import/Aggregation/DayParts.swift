import HealthStore
import HealthModel

/// The records of days that one reading finds, in some six bytes each.
///
/// They are kept in periods of four weeks in UTC, by quantity and source, each record as its
/// distance from the one before. A record is kept in every period that it touches, so a day can be
/// made from its own period and the two beside it.
struct DayParts: Hashable, Sendable {
    /// The records of one quantity, period and source.
    struct Key: Hashable, Comparable, Sendable {
        let bits: UInt64

        /// - Parameters:
        ///   - quantity: an index in `ActivityDay.kinds`.
        ///   - source: 0 to 8,191.
        @inline(__always)
        init(quantity: Int, period: Int, source: Int) {
            bits =
                UInt64(truncatingIfNeeded: quantity) << 40
                | UInt64(truncatingIfNeeded: period &+ 32_768) << 16
                | UInt64(truncatingIfNeeded: source)
        }

        var quantity: Int { Int(bits >> 40) }
        var period: Int { Int(bits >> 16 & 0xFF_FFFF) - 32_768 }
        var source: Int { Int(bits & 0xFFFF) }
        /// The quantity and the period alone.
        fileprivate var group: UInt64 { bits >> 16 }

        static func < (a: Key, b: Key) -> Bool { a.bits < b.bits }
    }

    private struct Series: Hashable {
        var bytes: [UInt8] = []
        var last: Int64 = 0
        /// The index of its quantity and period in `counts`.
        let group: Int

        /// Adds a record; returns how many bytes it takes.
        @inline(__always)
        mutating func append(_ part: DayPart) -> Int {
            let before = bytes.count
            part.write(to: &bytes, after: &last)
            return bytes.count &- before
        }
    }

    /// A series that received records recently.
    private struct Recent: Hashable {
        var key = UInt64.max
        var place = 0
    }

    /// The length of a period in seconds.
    static let period: Int64 = 28 * 86_400
    /// The most bytes: 64 MiB, some ten million records.
    static let capacity = 64 << 20
    /// The most records of one quantity and period, which are decoded together.
    static let mostOfPeriod = 1 << 18
    /// The most series; ten years of three sources have 2,700.
    private static let mostSeries = 65_536
    private static let recentCount = 64

    private let capacity: Int
    private var size = 0
    private var places: [Key: Int] = [:]
    private var series: [Series] = []
    private var groups: [UInt64: Int] = [:]
    private var counts: [Int] = []
    /// The sources of each group.
    private var sources: [[Int]] = []
    private var recent = [Recent](repeating: Recent(), count: DayParts.recentCount)

    init(capacity: Int = DayParts.capacity) { self.capacity = capacity }

    /// Returns the period that contains an instant.
    @inline(__always)
    static func period(of seconds: Int64) -> Int { Int(LocalDays.quotient(seconds, period)) }

    /// Adds a record; `value` is in the quantity's unit and not negative.
    ///
    /// - Returns: Why it is not taken, otherwise `nil`: it is longer than `DayQuantity.longest`,
    ///   its value is too large to be counted, or there is no room for it.
    @inline(__always)
    mutating func add(
        _ value: Double, _ quantity: DayQuantity, source: Int, start: Int64, end: Int64
    ) -> RecordRefusal? {
        guard end &- start <= DayQuantity.longest else { return .tooLong }
        let scaled = value * quantity.scale
        guard scaled < 4e9 else { return .badValue }
        let part = DayPart(start: start, end: end, amount: Int64(scaled + 0.5))
        let period = DayParts.period(of: start)
        if end > Int64(period + 1) * DayParts.period {
            return addToAll(part, quantity, source, period)
        }
        let key = Key(quantity: quantity.place, period: period, source: source)
        guard let place = room(for: key) else { return .tooManyDays }
        append(part, to: place)
        return nil
    }

    /// Adds a record to all the periods that it touches, or to none.
    private mutating func addToAll(
        _ part: DayPart, _ quantity: DayQuantity, _ source: Int, _ first: Int
    ) -> RecordRefusal? {
        var places: [Int] = []
        for period in first...DayParts.period(of: part.end - 1) {
            let key = Key(quantity: quantity.place, period: period, source: source)
            guard let place = room(for: key) else { return .tooManyDays }
            places.append(place)
        }
        for place in places { append(part, to: place) }
        return nil
    }

    /// The series that have records, by quantity, period and source.
    var keys: [Key] { places.keys.filter { !series[places[$0] ?? 0].bytes.isEmpty }.sorted() }

    /// Returns the records of a quantity that touch a period, by source; those of each source are
    /// sorted once `settle` was called.
    func parts(of quantity: DayQuantity, _ period: Int) -> [(source: Int, parts: [DayPart])] {
        let first = Key(quantity: quantity.place, period: period, source: 0)
        let group = groups[first.group].map { sources[$0] } ?? []
        return group.sorted().compactMap { source in
            places[Key(quantity: quantity.place, period: period, source: source)].map {
                (source, DayPart.read(series[$0].bytes[...]))
            }
        }
    }

    /// Sorts the records of each series, and removes exact copies of others.
    ///
    /// - Returns: the number of copies.
    mutating func settle() -> Int64 {
        var copies: Int64 = 0
        for (key, place) in places {
            let read = DayPart.read(series[place].bytes[...])
            guard zip(read, read.dropFirst()).contains(where: { $0 >= $1 }) else { continue }
            let begin = Int64(key.period) * DayParts.period
            var bytes: [UInt8] = []
            var (last, previous): (Int64, DayPart?) = (0, nil)
            for part in read.sorted() {
                if part == previous {
                    // A record that began earlier is counted in the period in which it began.
                    copies += part.start >= begin ? 1 : 0
                    continue
                }
                part.write(to: &bytes, after: &last)
                previous = part
            }
            series[place].bytes = bytes
            series[place].last = last
        }
        return copies
    }

    @inline(__always)
    private mutating func append(_ part: DayPart, to place: Int) {
        size &+= series[place].append(part)
        counts[series[place].group] &+= 1
    }

    /// Returns the index of a series with room for one more record; `nil` if there is none.
    @inline(__always)
    private mutating func room(for key: Key) -> Int? {
        // Records come period after period, so each source keeps its slot.
        let slot = Int(truncatingIfNeeded: key.bits ^ key.bits >> 37) & (DayParts.recentCount - 1)
        let place: Int
        if recent[slot].key == key.bits {
            place = recent[slot].place
        } else {
            guard let found = find(key) else { return nil }
            recent[slot] = Recent(key: key.bits, place: found)
            place = found
        }
        guard size < capacity, counts[series[place].group] < DayParts.mostOfPeriod else {
            return nil
        }
        return place
    }

    private mutating func find(_ key: Key) -> Int? {
        if let known = places[key] { return known }
        guard series.count < DayParts.mostSeries else { return nil }
        var group = groups[key.group]
        if group == nil {
            group = counts.count
            groups[key.group] = group
            counts.append(0)
            sources.append([])
        }
        if let group { sources[group].append(key.source) }
        places[key] = series.count
        series.append(Series(group: group ?? 0))
        return series.count - 1
    }
}

extension DayPart {
    /// Writes the record, with its start as the distance from the start before it.
    @inline(__always)
    func write(to bytes: inout [UInt8], after last: inout Int64) {
        let distance = start &- last
        bytes.append(varint: UInt64(bitPattern: distance << 1 ^ distance >> 63))
        bytes.append(varint: UInt64(bitPattern: end &- start))
        bytes.append(varint: UInt64(bitPattern: amount))
        last = start
    }

    /// Returns the records that `write` wrote, up to the first bytes that are not a record.
    static func read(_ bytes: ArraySlice<UInt8>) -> [DayPart] {
        var parts: [DayPart] = []
        parts.reserveCapacity(bytes.count / 6)
        var rest = bytes
        var start: Int64 = 0
        while let distance = rest.readVarint(), let length = rest.readVarint(),
            let amount = rest.readVarint()
        {
            start &+= Int64(bitPattern: distance >> 1) ^ -Int64(bitPattern: distance & 1)
            parts.append(
                DayPart(
                    start: start, end: start &+ Int64(bitPattern: length),
                    amount: Int64(bitPattern: amount)))
        }
        return parts
    }
}

extension [UInt8] {
    /// Appends a number with seven bits a byte, the lowest first.
    @inline(__always)
    mutating func append(varint number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }
}

extension ArraySlice<UInt8> {
    /// Removes a number of `append(varint:)` from the front and returns it; `nil` at the end, or if
    /// there is none.
    @inline(__always)
    mutating func readVarint() -> UInt64? {
        var (number, shift): (UInt64, UInt64) = (0, 0)
        while let byte = popFirst() {
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
            shift += 7
            guard shift < 64 else { return nil }
        }
        return nil
    }
}

/// A quantity that days are made of, and how it is counted.
struct DayQuantity: Hashable, Sendable {
    /// The longest record: a leap year, in seconds.
    static let longest: Int64 = 366 * 86_400
    static let all = ActivityDay.kinds.indices.map(DayQuantity.init(place:))

    let kind: SampleKind
    /// Its index in `ActivityDay.kinds`.
    let place: Int
    /// The number of counted whole numbers in one of the kind's unit. They are hundredths of a
    /// step, millimetres, tenths of a calorie, milliseconds.
    let scale: Double

    /// `nil` for a kind that is not part of a day.
    init?(_ kind: SampleKind) {
        guard let place = ActivityDay.kinds.firstIndex(of: kind) else { return nil }
        self.init(place: place)
    }

    /// Whether the last record of a day counts instead of a sum.
    let hasNoSum: Bool
    /// Whether its value in a day is a whole number.
    let isCount: Bool

    private init(place: Int) {
        self.place = place
        kind = ActivityDay.kinds[place]
        let facts = kind.facts.day
        scale = facts?.scale ?? 1
        hasNoSum = facts?.hasNoSum ?? true
        isCount = facts?.isCount ?? false
    }
}

/// One record of a quantity, in seconds since 1970 and in the quantity's whole numbers.
struct DayPart: Hashable, Comparable, Sendable {
    var start: Int64
    /// At or after `start`; equal to it for an instant.
    var end: Int64
    var amount: Int64

    var isInstant: Bool { start == end }

    /// Orders by start, the longest first.
    static func < (a: DayPart, b: DayPart) -> Bool {
        a.start != b.start
            ? a.start < b.start : a.end != b.end ? a.end > b.end : a.amount > b.amount
    }

    /// Returns how much of the amount lies before an instant, in 2^-20 of a whole number.
    @inline(__always)
    func amount(before instant: Int64) -> Int64 {
        if instant >= end { return amount << 20 }
        if instant <= start { return 0 }
        let product = UInt64(amount << 20).multipliedFullWidth(by: UInt64(instant - start))
        return Int64(UInt64(end - start).dividingFullWidth(product).quotient)
    }
}
