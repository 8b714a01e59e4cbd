/// The half hours of one day, one source and one lane.
struct PageKey: Hashable, Comparable {
    let bits: UInt64

    /// - Parameters:
    ///   - day: the days since 1970-01-01, from -65,536 on.
    ///   - lane: 0 to 127.
    ///   - source: 0 to 8,191.
    @inline(__always)
    init(day: Int, lane: Int, source: Int) {
        bits =
            UInt64(truncatingIfNeeded: day &+ 65_536) << 20
            | UInt64(truncatingIfNeeded: lane & 127) << 13
            | UInt64(truncatingIfNeeded: source & 8191)
    }

    var day: Int { Int(bits >> 20) - 65_536 }
    var lane: Int { Int(bits >> 13 & 127) }
    var source: Int { Int(bits & 8191) }

    static func < (a: PageKey, b: PageKey) -> Bool { a.bits < b.bits }
}

/// Sums by half hour, in pages of one day each: 200 bytes a page and at most `capacity` of them.
///
/// A page is found by its key through a table of places; the last page of each lane and source is
/// tried first, since records of one kind follow each other in time.
struct PageStore {
    /// The half hours of a page. The longest days have 25 hours; what a day of some other zone may
    /// have beyond counts in the last one.
    static let slots = 50
    private static let pagesPerChunk = 1024
    private static let recentCount = 128

    private final class Chunk {
        let cells: UnsafeMutablePointer<UInt32>

        init() {
            let count = PageStore.slots * PageStore.pagesPerChunk
            cells = .allocate(capacity: count)
            cells.initialize(repeating: 0, count: count)
        }

        deinit { cells.deallocate() }
    }

    private let capacity: Int
    private var chunks: [Chunk] = []
    private(set) var keys: [PageKey] = []
    /// The places of the pages by a hash of their keys; 0 for none, else the place and 1.
    private var table = [Int32](repeating: 0, count: 1024)
    private var recent = [(key: UInt64, place: Int)](
        repeating: (.max, 0), count: PageStore.recentCount)

    init(capacity: Int) { self.capacity = capacity }

    /// The page of a key, made of zeros when it is new; `nil` when there are too many.
    @inline(__always)
    mutating func place(of key: PageKey) -> Int? {
        let slot = Int(truncatingIfNeeded: key.bits & 0xF_FFFF) & (PageStore.recentCount - 1)
        if recent[slot].key == key.bits { return recent[slot].place }
        guard let place = find(key) else { return nil }
        recent[slot] = (key.bits, place)
        return place
    }

    /// Adds to a half hour; what does not fit into 32 bits is cut there.
    @inline(__always)
    mutating func add(_ amount: Int64, to place: Int, slot: Int) {
        let cell = cells(place) + min(max(slot, 0), PageStore.slots - 1)
        cell.pointee = UInt32(clamping: Int64(cell.pointee) &+ amount)
    }

    /// The half hours of a page.
    func page(_ place: Int) -> UnsafeBufferPointer<UInt32> {
        UnsafeBufferPointer(start: cells(place), count: PageStore.slots)
    }

    @inline(__always)
    private func cells(_ place: Int) -> UnsafeMutablePointer<UInt32> {
        chunks[place / PageStore.pagesPerChunk].cells
            + place % PageStore.pagesPerChunk * PageStore.slots
    }

    private mutating func find(_ key: PageKey) -> Int? {
        var index = PageStore.hash(key) & (table.count - 1)
        while table[index] != 0 {
            let place = Int(table[index]) - 1
            if keys[place] == key { return place }
            index = (index + 1) & (table.count - 1)
        }
        guard keys.count < capacity else { return nil }
        keys.append(key)
        if keys.count > chunks.count * PageStore.pagesPerChunk { chunks.append(Chunk()) }
        if keys.count * 2 > table.count {
            enlarge()
        } else {
            table[index] = Int32(keys.count)
        }
        return keys.count - 1
    }

    private mutating func enlarge() {
        table = [Int32](repeating: 0, count: table.count * 2)
        for (place, key) in keys.enumerated() {
            var index = PageStore.hash(key) & (table.count - 1)
            while table[index] != 0 { index = (index + 1) & (table.count - 1) }
            table[index] = Int32(place + 1)
        }
    }

    private static func hash(_ key: PageKey) -> Int {
        Int(truncatingIfNeeded: (key.bits &* 0x9E37_79B9_7F4A_7C15) >> 40)
    }
}
