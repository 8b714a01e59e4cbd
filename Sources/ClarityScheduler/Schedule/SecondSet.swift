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
        let place = place(of: range.lowerBound)
        guard place < count, milliseconds[place] < range.upperBound else { return nil }
        return Int(milliseconds[place])
    }

    /// Returns the last time in a range.
    func last(in range: Range<Int>) -> Int? {
        let place = place(of: range.upperBound) - 1
        guard place >= 0, milliseconds[place] >= range.lowerBound else { return nil }
        return Int(milliseconds[place])
    }

    /// Returns the number of times in a range.
    func count(in range: Range<Int>) -> Int {
        place(of: range.upperBound) - place(of: range.lowerBound)
    }

    /// Returns the index of the first time not before `instant`; `count` if there is none.
    private func place(of instant: Int) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if milliseconds[middle] < instant { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
