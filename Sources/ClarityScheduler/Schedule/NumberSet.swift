/// A set of numbers from 0 to 63.
struct NumberSet: Hashable, Sendable {
    /// Bit `n` is set if the set contains `n`.
    private(set) var bits: UInt64 = 0

    init(_ numbers: some Sequence<Int> = []) {
        for number in numbers { insert(number) }
    }

    var count: Int { bits.nonzeroBitCount }

    func contains(_ number: Int) -> Bool { bits >> UInt64(number) & 1 == 1 }

    mutating func insert(_ number: Int) { bits |= 1 << UInt64(number) }

    /// Returns the smallest number in a range, which may reach beyond 0 to 63.
    func first(in range: Range<Int>) -> Int? {
        let left = part(range)
        return left == 0 ? nil : left.trailingZeroBitCount
    }

    /// Returns the largest number in a range.
    func last(in range: Range<Int>) -> Int? {
        let left = part(range)
        return left == 0 ? nil : 63 - left.leadingZeroBitCount
    }

    /// Returns how many numbers of the set are in a range.
    func count(in range: Range<Int>) -> Int { part(range).nonzeroBitCount }

    private func part(_ range: Range<Int>) -> UInt64 {
        let lower = UInt64(min(max(range.lowerBound, 0), 64))
        let upper = UInt64(min(max(range.upperBound, 0), 64))
        // A shift by 64 gives 0, so the mask of all 64 bits is correct too.
        let below = { (end: UInt64) in (1 as UInt64) << end &- 1 }
        return bits & below(upper) & ~below(lower)
    }
}

/// A set of times within a minute, in milliseconds from its start.
struct SecondSet: Hashable, Sendable {
    /// In ascending order, each from 0 to 59,999.
    private let milliseconds: [UInt16]

    init(milliseconds: some Sequence<Int>) {
        self.milliseconds = Set(milliseconds).sorted().map { UInt16($0) }
    }

    /// The start of the minute.
    static let zero = SecondSet(milliseconds: [0])

    var count: Int { milliseconds.count }

    /// Returns the first time in a range, which may reach beyond the minute.
    func first(in range: Range<Int>) -> Int? {
        let index = index(of: range.lowerBound)
        guard index < count, milliseconds[index] < range.upperBound else { return nil }
        return Int(milliseconds[index])
    }

    /// Returns the last time in a range.
    func last(in range: Range<Int>) -> Int? {
        let index = index(of: range.upperBound) - 1
        guard index >= 0, milliseconds[index] >= range.lowerBound else { return nil }
        return Int(milliseconds[index])
    }

    /// Returns the number of times in a range.
    func count(in range: Range<Int>) -> Int {
        index(of: range.upperBound) - index(of: range.lowerBound)
    }

    /// Returns the index of the first time not before `instant`; `count` if there is none.
    private func index(of instant: Int) -> Int {
        milliseconds.endOfPrefix { $0 < instant }
    }
}

extension Array {
    /// Returns the number of elements at the front that satisfy `isBefore`, by a binary search: none
    /// after them satisfies it.
    @inlinable package func endOfPrefix(_ isBefore: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
