import ClarityScheduler

/// What the records of one day add up to: those with numbers in one unit, or those with the same
/// word.
package struct DaySum: Hashable, Sendable {
    /// The date, in days since 1970-01-01. A record belongs to the day in which it starts.
    package var day: Int
    package var unit: String?
    /// The value of records whose value is no number; `nil` for numbers.
    package var word: String?
    package var count: Int64 = 0
    package var least = Double.infinity
    package var most = -Double.infinity
    package var sum = 0.0
    /// How long the records took together.
    package var seconds: Int64 = 0

    package init(day: Int) { self.day = day }

    /// Whether the records have numbers.
    package var hasNumbers: Bool { least <= most }

    /// Adds what another day, or part of it, adds up to.
    package mutating func add(_ other: DaySum) {
        count += other.count
        least = min(least, other.least)
        most = max(most, other.most)
        sum += other.sum
        seconds += other.seconds
    }

    package mutating func add(_ record: ArchivedRecord) {
        count += 1
        seconds += max(0, record.end - record.start)
        guard let number = record.value.number else { return }
        least = min(least, number)
        most = max(most, number)
        sum += number
    }

    /// Whether both say the same, but for the last digits of a sum that was made in another order.
    func agrees(with other: DaySum) -> Bool {
        day == other.day && unit == other.unit && word == other.word && count == other.count
            && least == other.least && most == other.most && seconds == other.seconds
            && abs(sum - other.sum) <= 1e-9 * max(abs(sum), abs(other.sum))
    }
}

extension ArchivedRecord.Value {
    /// The number, rounded to the nearest that the machine has.
    package var number: Double? {
        guard case .number(let mantissa, let decimals) = self else { return nil }
        return Double(mantissa, decimals: decimals)
    }
}

/// The days of a type in one month, so that years are drawn without opening a segment.
struct MonthSums: Hashable, Sendable {
    /// The most different words of a month that are told apart; other records of it have none.
    private static let mostWords = 64

    /// The time zone whose days they are.
    var zone: String
    /// The generation of the newest segment whose records are in.
    var generation: Int64
    var records: Int64
    /// The first and the last start, in seconds since 1970.
    var first: Int64
    var last: Int64
    /// In the order of days.
    var days: [DaySum] = []

    private struct Place: Hashable {
        var day: Int
        /// Indices of texts, so that no text is hashed for each record.
        var unit: Int
        var word: UInt32?
    }

    /// Adds up the records of a segment, which are in the order of time.
    init(_ segment: Segment, generation: Int64, zone: Zone) {
        self.zone = zone.identifier
        self.generation = generation
        records = Int64(segment.records.count)
        first = segment.records.first?.start ?? 0
        last = segment.records.last?.start ?? 0
        var local = LocalDays(zone: zone)
        var units: [String?] = []
        var unitOf: [UInt32: Int] = [:]
        var lastOrigin: (origin: UInt32, unit: Int)?
        var words: Set<UInt32> = []
        var places: [Place: Int] = [:]
        var recent: (place: Place, index: Int)?
        for record in segment.records {
            var place = Place(day: local.day(at: record.start).number, unit: 0)
            if let lastOrigin, lastOrigin.origin == record.origin {
                place.unit = lastOrigin.unit
            } else if let known = unitOf[record.origin] {
                place.unit = known
            } else {
                let unit = RecordOrigin(segment.texts[record.origin]).unit
                let index = units.firstIndex(of: unit) ?? units.count
                if index == units.count { units.append(unit) }
                unitOf[record.origin] = index
                place.unit = index
            }
            lastOrigin = (record.origin, place.unit)
            if case .text(let index) = record.value {
                if words.count < MonthSums.mostWords { words.insert(index) }
                place.word = words.contains(index) ? index : nil
            }
            if recent?.place != place {
                let index = places[place] ?? days.count
                if index == days.count {
                    places[place] = index
                    var day = DaySum(day: place.day)
                    day.unit = units[place.unit]
                    day.word = place.word.map { String(decoding: segment.texts[$0], as: UTF8.self) }
                    days.append(day)
                }
                recent = (place, index)
            }
            if let recent { days[recent.index].add(record) }
        }
        days.sort {
            ($0.day, $0.unit ?? "", $0.word ?? "") < ($1.day, $1.unit ?? "", $1.word ?? "")
        }
    }

    func agrees(with other: MonthSums) -> Bool {
        records == other.records && first == other.first && last == other.last
            && days.count == other.days.count
            && zip(days, other.days).allSatisfy { $0.agrees(with: $1) }
    }
}

// Their encrypted form: a head, and then the days as one compressed frame.

extension MonthSums {
    private static let version: UInt8 = 1
    /// More than a month of days can have.
    private static let longest = 1 << 24
    private static let absent = UInt16.max

    func encoded(_ compressor: Compressor) -> [UInt8] {
        var texts = TextTable()
        func place(_ text: String?) -> UInt16 {
            text.map { UInt16(truncatingIfNeeded: texts.index(of: Array($0.utf8))) }
                ?? MonthSums.absent
        }
        var rows: [UInt8] = []
        for day in days {
            rows.append(littleEndian: Int32(day.day))
            rows.append(littleEndian: place(day.unit))
            rows.append(littleEndian: place(day.word))
            rows.append(littleEndian: day.count)
            for number in [day.least, day.most, day.sum] {
                rows.append(littleEndian: number.bitPattern)
            }
            rows.append(littleEndian: day.seconds)
        }
        var plain: [UInt8] = []
        plain.append(field: zone)
        for number in [generation, records, first, last] { plain.append(littleEndian: number) }
        plain.append(littleEndian: UInt32(texts.count))
        for text in texts.texts { plain.append(field: String(decoding: text, as: UTF8.self)) }
        var bytes = [MonthSums.version]
        compressor.append(plain + rows, to: &bytes)
        return bytes
    }

    /// Reads what `encoded` wrote; returns `nil` for anything else.
    init?(_ bytes: [UInt8], _ decompressor: Decompressor) {
        var frames = FrameReader(bytes, decompressor)
        do throws(ArchiveError) {
            guard try frames.byte() == MonthSums.version else { return nil }
            guard let sums = try MonthSums(plain: frames.frame(atMost: MonthSums.longest)) else {
                return nil
            }
            self = sums
        } catch {
            return nil
        }
    }

    private init?(plain: [UInt8]) {
        var reader = ByteReader(plain)
        guard let zone = reader.field(), let generation = reader.number(Int64.self),
            let records = reader.number(Int64.self), let first = reader.number(Int64.self),
            let last = reader.number(Int64.self), let count = reader.number(UInt32.self),
            count < UInt32(MonthSums.absent)
        else { return nil }
        (self.zone, self.generation) = (zone, generation)
        (self.records, self.first, self.last) = (records, first, last)
        var texts: [String] = []
        for _ in 0..<count {
            guard let text = reader.field() else { return nil }
            texts.append(text)
        }
        func text(_ place: UInt16) -> String? {
            Int(place) < texts.count ? texts[Int(place)] : nil
        }
        while !reader.isAtEnd {
            guard let day = reader.number(Int32.self), let unit = reader.number(UInt16.self),
                let word = reader.number(UInt16.self), let count = reader.number(Int64.self),
                let least = reader.number(UInt64.self), let most = reader.number(UInt64.self),
                let sum = reader.number(UInt64.self), let seconds = reader.number(Int64.self)
            else { return nil }
            var read = DaySum(day: Int(day))
            (read.unit, read.word) = (text(unit), text(word))
            (read.count, read.seconds) = (count, seconds)
            read.least = Double(bitPattern: least)
            read.most = Double(bitPattern: most)
            read.sum = Double(bitPattern: sum)
            days.append(read)
        }
    }
}
