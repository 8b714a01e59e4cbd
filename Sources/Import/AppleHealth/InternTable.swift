/// Remembers what was made from a text, so that it is made once and not for every record.
///
/// Neighbouring records nearly always have the same type, unit and source. So the table tries the
/// last entry first, then, for a short text, the earliest ones, then an index. It holds at most
/// `capacity` entries of at most `limit` bytes, so no file can make it grow.
struct InternTable<Value> {
    /// The longest text that is remembered: 256 bytes. No type, unit or source has half of that.
    static var longest: Int { 256 }

    /// Comparing a longer text with a few entries takes longer than hashing it.
    private static var longestTried: Int { 64 }

    private let capacity: Int
    private let limit: Int
    private var keys: [[UInt8]] = []
    /// The places by hash, so that no key is made of a text that is only looked up.
    private var index: [Int: Int] = [:]
    private var last = 0
    var values: [Value] = []

    /// - Parameter limit: the longest text in bytes that is remembered.
    init(capacity: Int, limit: Int = InternTable.longest) {
        self.capacity = capacity
        self.limit = limit
    }

    /// Returns the index of the entry for `bytes`, which `make` creates if they are new; `nil` if
    /// the table is full or the text is too long.
    mutating func place(of bytes: Bytes, make: (Bytes) -> Value) -> Int? {
        if last < keys.count, bytes.isEqual(to: keys[last]) { return last }
        if bytes.count <= InternTable.longestTried {
            for place in 0..<min(8, keys.count) where bytes.isEqual(to: keys[place]) {
                last = place
                return place
            }
        }
        guard bytes.count <= limit else { return nil }
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
        let hash = hasher.finalize()
        if let known = index[hash] {
            // Of two texts with one hash, which is next to impossible, the second is not remembered.
            guard bytes.isEqual(to: keys[known]) else { return nil }
            last = known
            return known
        }
        guard keys.count < capacity else { return nil }
        last = keys.count
        keys.append(Array(bytes))
        index[hash] = last
        values.append(make(bytes))
        return last
    }
}
