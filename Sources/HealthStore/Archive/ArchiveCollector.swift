import ClarityScheduler

/// A type and a month, counted from January 1970.
public struct TypeMonth: Hashable, Comparable, Sendable {
    package var type: String
    package var month: Int

    public init(type: String, month: Int) {
        self.type = type
        self.month = month
    }

    /// Returns the month of an instant in seconds since 1970, in UTC.
    static func month(of seconds: Int64) -> Int {
        let time = CivilTime(seconds &* 1000)
        return (time.year - 1970) * 12 + time.month - 1
    }

    /// Such as `HKQuantityTypeIdentifierHeartRate 2026-01`.
    public var name: String { "\(type) \(monthName)" }

    /// The month in seconds since 1970, in UTC.
    public var seconds: Range<Int64> {
        TypeMonth.start(of: month)..<TypeMonth.start(of: month + 1)
    }

    /// Returns the first second of a month since 1970, in UTC.
    static func start(of month: Int) -> Int64 {
        let (year, rest) = month.quotientAndRemainder(dividingBy: 12)
        let isBefore = rest < 0
        return CivilTime(
            year: 1970 + year - (isBefore ? 1 : 0), month: 1 + rest + (isBefore ? 12 : 0), day: 1
        ).millisecondsSince1970 / 1000
    }

    /// Whether an instant of a range is in the month, in UTC.
    package func overlaps(_ range: Range<Int64>) -> Bool {
        !range.isEmpty && TypeMonth.month(of: range.lowerBound) <= month
            && month <= TypeMonth.month(of: range.upperBound - 1)
    }

    public static func < (one: TypeMonth, other: TypeMonth) -> Bool {
        (one.type, one.month) < (other.type, other.month)
    }
}

/// Gathers the records of one reading by type and month, until `Archive.keep` stores them.
///
/// The most recent records are values in memory; more than `mostOpen` of them are compressed, which
/// leaves some 5 bytes of each. Of the records that are known only the fingerprint is made.
package struct ArchiveCollector: Hashable, Sendable {
    /// The records that are known.
    package enum Known: Hashable, Sendable {
        case none
        /// Those of these months.
        case months(Set<TypeMonth>)
        /// All, because only the fingerprints are wanted.
        case all
    }

    private struct Bucket: Hashable, Sendable {
        var type: Int
        var month: Int
        let isKnown: Bool
        var print = Fingerprint()
        var open: [ArchivedRecord] = []
        /// Encoded segments.
        var parts: [[UInt8]] = []
    }

    private struct LastBucket: Hashable {
        var type: Int
        var bucket: Int
        /// The month: from the first second up to but not including the last.
        var from: Int64
        var to: Int64
    }

    private struct Place: Hashable {
        var type: Int
        var month: Int
    }

    /// The records that are kept as they are: some 2 MB.
    private static let mostOpen = 32_000
    /// The number of the type whose records have another name in their origin: no plain name, or
    /// one of too many.
    package static let otherType = 0
    /// The bytes of texts that are kept: some apps give every record an id of its own.
    private static let mostText = 1 << 21
    /// The most types that are distinguished, as in the counts of an export.
    private static let mostTypes = 1024
    /// Fewer records of a month are not worth compressing before all are there.
    private static let fewRecords = 256

    /// The texts of the records that are not compressed yet.
    package var texts = TextTable()
    /// Rises when `texts` begins anew: indices from before mean nothing then.
    package private(set) var epoch = 0
    private var types = ["(other types)": ArchiveCollector.otherType]
    private var names = ["(other types)"]
    private let known: Known
    /// Hashes the records for the fingerprints of months; `nil` if nobody wants these.
    private var blindIndexes: RecordTags?
    /// What belongs to the reading and is in no month.
    private var rest = Fingerprint()
    private var buckets: [Bucket] = []
    private var places: [Place: Int] = [:]
    /// Neighbouring records nearly always have the same type and month.
    private var last: LastBucket?
    private var openCount = 0
    private let mostOpen: Int
    /// The first error of libzstd, which means that there is no memory.
    private var failure: ArchiveError?
    /// The number of records.
    package private(set) var count: Int64 = 0

    /// - Parameters:
    ///   - key: the key of fingerprints, `Archive.marks` has it; `nil` if nobody wants any.
    ///   - mostOpen: the number of records that are not compressed, for tests.
    package init(key: [UInt8]? = nil, known: Known = .none, mostOpen: Int? = nil) {
        self.mostOpen = mostOpen ?? ArchiveCollector.mostOpen
        self.known = known
        blindIndexes = key.map { RecordTags($0) }
    }

    /// Returns the number of a type, for `add`; `nil` if there are too many types already.
    package mutating func type(_ name: String) -> Int? {
        if let known = types[name] { return known }
        guard types.count < ArchiveCollector.mostTypes else { return nil }
        types[name] = names.count
        names.append(name)
        return names.count - 1
    }

    /// Whether a record of a type that starts then is known.
    @inline(__always)
    package mutating func isKnown(_ start: Int64, type: Int) -> Bool {
        buckets[bucket(of: start, type)].isKnown
    }

    /// Adds a record of a type.
    package mutating func add(_ record: ArchivedRecord, type: Int) {
        let bucket = bucket(of: record.start, type)
        count += 1
        if let blindIndex = blindIndex(of: record) { buckets[bucket].print.add(blindIndex) }
        if !buckets[bucket].isKnown {
            buckets[bucket].open.append(record)
            openCount += 1
        }
        if openCount > mostOpen || texts.size > ArchiveCollector.mostText { compress() }
    }

    /// Adds a record to the digest that is part of another one.
    package mutating func note(_ record: ArchivedRecord, type: Int) {
        guard let blindIndex = blindIndex(of: record), let blindIndexes else { return }
        rest.add(blindIndexes.hash([blindIndex, blindIndexes.hash(Array(names[type].utf8))]))
    }

    /// Adds a record to the digest that cannot be kept.
    package mutating func noteRefused() { rest.count &+= 1 }

    /// Adds a number to the digest, after all records.
    package mutating func note(_ number: Int64) {
        guard let blindIndexes else { return }
        rest.sum = blindIndexes.hash([rest.sum, UInt128(truncatingIfNeeded: number)])
    }

    private mutating func blindIndex(of record: ArchivedRecord) -> UInt128? {
        blindIndexes?.add(texts)
        return blindIndexes?.blindIndex(of: record)
    }

    @inline(__always)
    private mutating func bucket(of start: Int64, _ type: Int) -> Int {
        if let last, last.type == type, start >= last.from, start < last.to { return last.bucket }
        return newBucket(of: start, type)
    }

    private mutating func newBucket(of start: Int64, _ type: Int) -> Int {
        let place = Place(type: type, month: TypeMonth.month(of: start))
        let bucket = places[place] ?? buckets.count
        if bucket == buckets.count {
            places[place] = bucket
            let isKnown =
                switch known {
                case .none: false
                case .months(let months):
                    months.contains(TypeMonth(type: names[type], month: place.month))
                case .all: true
                }
            buckets.append(Bucket(type: type, month: place.month, isKnown: isKnown))
        }
        let seconds = TypeMonth(type: names[type], month: place.month).seconds
        last = LastBucket(
            type: type, bucket: bucket, from: seconds.lowerBound, to: seconds.upperBound)
        return bucket
    }

    /// Compresses the records of large buckets; all of them if that does not help, or if there is
    /// too much text.
    private mutating func compress() {
        let hasMuchText = texts.size > ArchiveCollector.mostText
        do throws(ArchiveError) {
            let compressor = try Compressor(level: 1)
            for floor in [ArchiveCollector.fewRecords, 1]
            where openCount > mostOpen / 2 || hasMuchText {
                for index in buckets.indices where buckets[index].open.count >= floor {
                    var segment = Segment()
                    segment.add(buckets[index].open, textsIn: texts)
                    buckets[index].parts.append(segment.encoded(compressor))
                    openCount -= segment.records.count
                    buckets[index].open = []
                }
            }
            if hasMuchText {
                texts = TextTable()
                blindIndexes = blindIndexes.map { RecordTags($0.key) }
                epoch += 1
            }
        } catch {
            failure = failure ?? error
        }
    }

    /// Returns the types and months, in order.
    func keys() -> [(key: TypeMonth, bucket: Int)] {
        buckets.enumerated().map { index, bucket in
            (TypeMonth(type: names[bucket.type], month: bucket.month), index)
        }.sorted { $0.0 < $1.0 }
    }

    /// Returns the fingerprint of a type and month; `nil` without this key.
    func print(_ bucket: Int, _ key: [UInt8]) -> Fingerprint? {
        blindIndexes?.key == key ? buckets[bucket].print : nil
    }

    /// Whether the records of a type and month are known, so that there is only their fingerprint.
    func isKnown(_ bucket: Int) -> Bool { buckets[bucket].isKnown }

    /// Whether all months that count as known have these fingerprints.
    package func isRight(about prints: [TypeMonth: Fingerprint]) -> Bool {
        keys().allSatisfy {
            !buckets[$0.bucket].isKnown || prints[$0.key] == buckets[$0.bucket].print
        }
    }

    /// Returns the months that have the same fingerprints.
    package func months(like prints: [TypeMonth: Fingerprint]) -> Set<TypeMonth> {
        Set(keys().lazy.filter { prints[$0.key] == buckets[$0.bucket].print }.map(\.key))
    }

    /// What tells this reading from another one, without the order of its records; `nil` without a
    /// key.
    package var digest: UInt128? {
        guard let blindIndexes else { return nil }
        func blindIndex(_ name: String, _ month: Int, _ print: Fingerprint) -> UInt128 {
            blindIndexes.hash(
                [blindIndexes.hash(Array(name.utf8)), UInt128(truncatingIfNeeded: month)]
                    + [UInt128(print.count), print.sum])
        }
        return keys().reduce(blindIndex("", 0, rest)) { sum, entry in
            sum &+ blindIndex(entry.key.type, entry.key.month, buckets[entry.bucket].print)
        }
    }

    /// Returns all records of a type and month.
    func segment(_ bucket: Int, _ decompressor: Decompressor) throws(ArchiveError) -> Segment {
        if let failure { throw failure }
        var segment = Segment()
        for part in buckets[bucket].parts {
            segment.add(try Segment(part, decompressor))
        }
        segment.add(buckets[bucket].open, textsIn: texts)
        return segment
    }
}
