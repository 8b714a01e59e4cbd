import HealthStore
import ClarityScheduler

/// A source of records, as the merge ranks it.
struct DaySource: Hashable, Sendable {
    var name: String
    var sort: SourceSort
    /// Its index among the sources that the user prefers; `nil` if it is none of them.
    var preference: Int?
    /// Whether its records are totals that an app has made from other records.
    var isTotal = false
    /// Whether the file of each such total has no other time of the quantity (`TotalPoint`).
    var isLone = false
}

extension DaySource {
    /// - Parameters:
    ///   - sort: what its devices show it to be; `nil` if they show nothing.
    ///   - preferred: the names of the sources that the user prefers, the first before the second.
    init(name: String, sort: SourceSort? = nil, preferred: [String], isTotal: Bool = false) {
        let simplified = SourceRank.simplified(name)
        self.init(
            name: name, sort: sort ?? SourceSort.of(name: name),
            preference: preferred.firstIndex { SourceRank.simplified($0) == simplified },
            isTotal: isTotal)
    }
}

/// The records of one source entry for a quantity and a period, in layers that were complete at
/// different times.
///
/// An export is one layer. A folder of small files has one for each time at which files were
/// written.
struct PartialAggregate: Hashable {
    struct Layer: Hashable {
        /// When its source was complete, in seconds since 1970.
        var asOf: Int64
        var parts: [DaySource: [DayPart]] = [:]
        /// The phone's own totals by day number, in the quantity's whole numbers.
        var totals: [Int: Int64] = [:]

        /// Gives its sources the ranks of those of the same name, because the user may have changed
        /// `prefer`.
        mutating func rank(like sources: some Sequence<DaySource>) {
            for source in sources {
                for old in parts.keys
                where old != source && old.name == source.name && old.isTotal == source.isTotal
                    && old.isLone == source.isLone
                {
                    let moved = parts.removeValue(forKey: old) ?? []
                    parts[source, default: []] = ((parts[source] ?? []) + moved).sorted()
                }
            }
        }

        /// Removes the parts that a layer as late or later replaces: records of the same source,
        /// start and end, and totals of the same time, whatever their source.
        mutating func remove(replacedBy other: Layer) {
            let isSameFile = asOf == other.asOf
            func span(_ part: DayPart) -> Span { Span(part, isLengthKnown: !isSameFile) }
            var totals: Set<Span> = []
            for (source, parts) in other.parts where source.isTotal {
                totals.formUnion(parts.lazy.map(span))
            }
            for (source, parts) in parts {
                if source.isTotal {
                    self.parts[source] = parts.filter { !totals.contains(span($0)) }
                } else if let new = other.parts[source] {
                    let spans = Set(new.map { Span($0) })
                    self.parts[source] = parts.filter { !spans.contains(Span($0)) }
                }
            }
        }
    }

    private struct Span: Hashable {
        var start: Int64
        var end: Int64

        init(_ part: DayPart) { (start, end) = (part.start, part.end) }

        /// The time of a total. The ends of days and hours do not tell one from another, and a file
        /// that is read again may have had another length before.
        init(_ part: DayPart, isLengthKnown: Bool) {
            start = part.start
            end = isLengthKnown ? part.start + (part.grid ?? part.end - part.start) : part.start
        }
    }

    private(set) var layers: [Layer] = []

    init(_ layer: Layer? = nil) { layers = layer.map { [$0] } ?? [] }

    /// When the latest of its layers was complete.
    var asOf: Int64 { layers.map(\.asOf).max() ?? .min }

    /// Adds a layer. Of two parts with the same source, start and end, and of two totals of the
    /// same time, the one with the later `asOf` stays.
    mutating func merge(_ layer: Layer) {
        var new = layer
        for place in layers.indices {
            layers[place].rank(like: new.parts.keys)
            if layers[place].asOf <= new.asOf {
                layers[place].remove(replacedBy: new)
            } else {
                new.remove(replacedBy: layers[place])
            }
        }
        if let same = layers.firstIndex(where: { $0.asOf == new.asOf }) {
            layers[same].parts.merge(new.parts) { ($0 + $1).sorted() }
            layers[same].totals.merge(new.totals) { max($0, $1) }
        } else {
            layers.append(new)
        }
        for place in layers.indices {
            layers[place].parts = layers[place].parts.filter { !$0.value.isEmpty }
        }
        layers.removeAll { $0.parts.isEmpty && $0.totals.isEmpty }
        layers.sort { $0.asOf < $1.asOf }
    }

    /// Returns its layer with another `asOf`, for comparison; `nil` unless it has exactly one.
    func sameLayer(asOf: Int64) -> Layer? {
        guard layers.count == 1, var layer = layers.first else { return nil }
        layer.asOf = asOf
        return layer
    }
}

// The binary form: numbers of seven bits a byte, texts preceded by their length.
extension PartialAggregate {
    private static let form: UInt64 = 1

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(varint: PartialAggregate.form)
        bytes.append(varint: UInt64(layers.count))
        for layer in layers {
            bytes.append(signed: layer.asOf)
            bytes.append(varint: UInt64(layer.parts.count))
            let sources = layer.parts.keys.sorted { SourceRank($0) < SourceRank($1) }
            for source in sources {
                let name = Array(source.name.utf8)
                bytes.append(varint: UInt64(name.count))
                bytes += name
                bytes.append(varint: UInt64(source.sort.rawValue))
                bytes.append(varint: source.preference.map { UInt64($0) + 1 } ?? 0)
                bytes.append(varint: source.isLone ? 2 : source.isTotal ? 1 : 0)
                var written: [UInt8] = []
                var last: Int64 = 0
                for part in layer.parts[source] ?? [] { part.write(to: &written, after: &last) }
                bytes.append(varint: UInt64(written.count))
                bytes += written
            }
            bytes.append(varint: UInt64(layer.totals.count))
            for (day, amount) in layer.totals.sorted(by: { $0.key < $1.key }) {
                bytes.append(signed: Int64(day))
                bytes.append(signed: amount)
            }
        }
        return bytes
    }

    /// Reads what `bytes` has written; `nil` for anything else.
    init?(bytes: [UInt8]) {
        var rest = bytes[...]
        guard rest.readVarint() == PartialAggregate.form, let count = rest.readVarint() else {
            return nil
        }
        for _ in 0..<count {
            guard let asOf = rest.readSigned(), let sources = rest.readVarint() else { return nil }
            var layer = Layer(asOf: asOf)
            for _ in 0..<sources {
                guard let name = rest.readBytes(), let sort = rest.readVarint(),
                    let sort = SourceSort(rawValue: Int(truncatingIfNeeded: sort)),
                    let preference = rest.readVarint(), let isTotal = rest.readVarint(),
                    let parts = rest.readBytes()
                else { return nil }
                let source = DaySource(
                    name: String(decoding: name, as: UTF8.self), sort: sort,
                    preference: preference == 0 ? nil : Int(truncatingIfNeeded: preference) - 1,
                    isTotal: isTotal > 0, isLone: isTotal == 2)
                layer.parts[source] = DayPart.read(parts)
            }
            guard let totals = rest.readVarint() else { return nil }
            for _ in 0..<totals {
                guard let day = rest.readSigned(), let amount = rest.readSigned() else {
                    return nil
                }
                layer.totals[Int(day)] = amount
            }
            layers.append(layer)
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(signed number: Int64) {
        append(varint: UInt64(bitPattern: number << 1 ^ number >> 63))
    }
}

extension ArraySlice<UInt8> {
    fileprivate mutating func readSigned() -> Int64? {
        readVarint().map { Int64(bitPattern: $0 >> 1) ^ -Int64(bitPattern: $0 & 1) }
    }

    fileprivate mutating func readBytes() -> ArraySlice<UInt8>? {
        guard let count = readVarint(), count <= UInt64(self.count) else { return nil }
        defer { removeFirst(Int(count)) }
        return prefix(Int(count))
    }
}

/// A total that an app has made of records: a point of Health Auto Export.
struct TotalPoint: Hashable {
    var part: RankedPart
    /// The place of its source entry among those that are known.
    var entry = 0
    /// Whether its file has no other time of the metric, so that it may be shorter than it seems.
    var isLone = false

    fileprivate var start: Int64 { part.part.start }
    fileprivate var end: Int64 { part.part.end }

    /// Whether a total of a file as late or earlier is the same one: more than half of the shorter
    /// one lies in both.
    fileprivate func replaces(_ other: TotalPoint) -> Bool {
        let isSameTime = start == other.start && end == other.end
        guard part.asOf > other.part.asOf else { return isSameTime && entry != other.entry }
        if isSameTime { return true }
        guard part.part.grid != nil else { return false }
        let common = min(end, other.end) - max(start, other.start)
        return 2 * common > min(end - start, other.end - other.start)
    }
}

/// Decides which totals of a quantity count, from all that are known of it.
///
/// | totals | what counts |
/// |---|---|
/// | of the same time, in several files | that of the latest file; of several written in the same second, the largest |
/// | of the same length, which overlap by half or less, as when the phone travels | both; the first one ends where the second one begins |
/// | a day and its hours, or an hour and its minutes | the larger: the total, or the sum of the shorter ones |
/// | the same, where the file of the longer one has no other time | the longer one is the first of the shorter ones, unless it comes to what two or more of them add up to |
struct TotalPoints {
    private let quantity: DayQuantity
    /// The totals that count so far, sorted by start.
    private var kept: [TotalPoint] = []

    /// Returns the totals that count, sorted by start.
    static func resolved(_ points: [TotalPoint], _ quantity: DayQuantity) -> [RankedPart] {
        var totals = TotalPoints(quantity: quantity)
        let groups = Dictionary(grouping: points) { $0.part.part.grid ?? 0 }
        // The shortest first, so that an hour is settled before its day.
        for (grid, points) in groups.sorted(by: { $0.key < $1.key }) {
            let latest = TotalPoints.latest(points, grid)
            totals.add(grid == 0 ? latest : TotalPoints.clipped(latest))
        }
        return totals.kept.map(\.part)
    }

    private init(quantity: DayQuantity) { self.quantity = quantity }

    /// Returns the totals that no later file has another value of, sorted by start.
    private static func latest(_ points: [TotalPoint], _ grid: Int64) -> [TotalPoint] {
        let width = max(grid, 1)
        var slots: [Int64: [TotalPoint]] = [:]
        var latest: [TotalPoint] = []
        let order = points.sorted {
            ($0.part.asOf, $0.part.part.amount) > ($1.part.asOf, $1.part.part.amount)
        }
        for point in order {
            let slot = LocalDays.quotient(point.start, width)
            let isReplaced = (slot - 1...slot + 1).contains { slot in
                slots[slot]?.contains { $0.replaces(point) } ?? false
            }
            if isReplaced { continue }
            slots[slot, default: []].append(point)
            latest.append(point)
        }
        return latest.sorted { RankedPart.comesBefore($0.part, $1.part) }
    }

    /// Ends each total where the next one begins.
    private static func clipped(_ points: [TotalPoint]) -> [TotalPoint] {
        var points = points
        var (next, last) = (Int64.max, Int64.max)
        for place in points.indices.reversed() {
            let start = points[place].start
            if start < last { (next, last) = (last, start) }
            points[place].part.part.end = min(points[place].end, next)
        }
        return points
    }

    /// Adds totals that are longer than all that were added before.
    private mutating func add(_ points: [TotalPoint]) {
        var added: [TotalPoint] = []
        var dropped: Set<Int> = []
        for point in points {
            let inner =
                point.part.part.grid == nil
                ? [] : places(from: point.start, to: point.end).filter { !dropped.contains($0) }
            guard let first = inner.first else {
                added.append(point)
                continue
            }
            let shorter = inner.map { kept[$0] }
            if point.isLone, isFirst(point, of: shorter) {
                var part = point
                part.part.part.end = min(
                    point.start + kept[first].end - kept[first].start, point.end)
                let same = inner.filter { kept[$0].start == point.start }
                guard same.allSatisfy({ kept[$0].part.asOf < point.part.asOf }) else { continue }
                dropped.formUnion(same)
                added.append(part)
            } else if counts(point, against: shorter) {
                dropped.formUnion(inner)
                added.append(point)
            }
        }
        kept = (kept.indices.filter { !dropped.contains($0) }.map { kept[$0] } + added)
            .sorted { RankedPart.comesBefore($0.part, $1.part) }
    }

    /// Whether a total is the first of the shorter ones, and not their sum.
    private func isFirst(_ point: TotalPoint, of shorter: [TotalPoint]) -> Bool {
        quantity.hasNoSum || shorter.count == 1
            || point.part.part.amount < TotalPoints.sum(shorter) / 10 * 9
    }

    private func counts(_ point: TotalPoint, against shorter: [TotalPoint]) -> Bool {
        quantity.hasNoSum
            ? shorter.allSatisfy { $0.part.asOf <= point.part.asOf }
            : point.part.part.amount >= TotalPoints.sum(shorter)
    }

    private static func sum(_ points: [TotalPoint]) -> Int64 {
        points.reduce(0) { $0 + $1.part.part.amount }
    }

    /// Returns the indices in `kept` of the totals that start in a range of time.
    private func places(from start: Int64, to end: Int64) -> Range<Int> {
        let first = kept.endOfPrefix { $0.start < start }
        return first..<max(first, kept.endOfPrefix { $0.start < end })
    }
}

extension DayPart {
    /// The length in seconds of the totals among which it is one: a day, an hour or a minute; `nil`
    /// for any other record, which nothing says to be a total of a span of time.
    var grid: Int64? {
        switch end - start {
        case 43_200...93_600: 86_400
        case 3600 where start.isMultiple(of: 900): 3600
        case 60 where start.isMultiple(of: 60): 60
        default: nil
        }
    }
}
