// Parses the numbers of a calendar expression.
extension ExpressionError.Field {
    /// How many units of `bounds` make one whole number.
    private var scale: Int { self == .second ? 1000 : 1 }

    /// The smallest step, in units of `bounds`: a tenth of a second, or one.
    private var leastStep: Int { self == .second ? 100 : 1 }

    /// Returns the values that a list of numbers, ranges and steps names; `nil` for `*`, which
    /// means all whole values.
    ///
    /// Days from a month's end (`isFromEnd`) step towards that end: `07/1` is 7, 6 ... 1.
    func values(
        _ text: Substring, isFromEnd: Bool = false
    ) throws(ExpressionError) -> [Int]? {
        if text == "*" { return nil }
        var values: Set<Int> = []
        for item in text.split(separator: ",", omittingEmptySubsequences: false) {
            let (range, step) = try parts(of: item)
            let ends = range.ends(around: "..")
            let first = try number(ends?.0 ?? range, in: item)
            var last = first
            // A step larger than its range leaves only the first value, as in systemd.
            var most = 9999 * scale
            if let end = ends?.1 {
                last = try number(end, in: item)
                guard first <= last else {
                    throw ExpressionError(
                        .calendar, self, got: item,
                        wanted: "a range that rises, such as `\(shown(last))..\(shown(first))`")
                }
            } else if step != nil {
                last = isFromEnd ? bounds.lowerBound : bounds.upperBound
                most = abs(last - first)
            }
            let by = try step.map { text throws(ExpressionError) in
                try self.step(text, atMost: most, in: item)
            }
            values.formUnion(
                stride(from: first, through: last, by: (by ?? scale) * (last < first ? -1 : 1)))
        }
        return Array(values)
    }

    /// Splits an item into its range and its step.
    private func parts(
        of item: Substring
    ) throws(ExpressionError) -> (range: Substring, step: Substring?) {
        if item.isEmpty {
            throw ExpressionError(
                .calendar, self, got: item, wanted: "a value on each side of every `,`")
        }
        guard let slash = item.firstIndex(of: "/") else { return (item, nil) }
        let range = item[..<slash]
        if range == "*" {
            throw ExpressionError(
                .calendar, self, got: item,
                wanted: "the first value before `/`, such as "
                    + "`\(bounds.lowerBound)\(item[slash...])`")
        }
        return (range, item[slash...].dropFirst())
    }

    private func step(
        _ text: Substring, atMost most: Int, in item: Substring
    ) throws(ExpressionError) -> Int {
        guard most >= leastStep else {
            throw ExpressionError(
                .calendar, self, got: item, wanted: "no `/` where nothing follows the value")
        }
        if let number = try value(text, in: item), (leastStep...most).contains(number) {
            return number
        }
        throw ExpressionError(
            .calendar, self, got: item, wanted: "a step of \(shown(leastStep)) to \(shown(most))")
    }

    private func number(_ text: Substring, in item: Substring) throws(ExpressionError) -> Int {
        if var number = try value(text, in: item) {
            // A year of at most two digits means 1970 to 2069.
            if self == .year, text.utf8.count <= 2 { number += number < 70 ? 2000 : 1900 }
            if bounds.contains(number) { return number }
        }
        throw ExpressionError(
            .calendar, self, got: item,
            wanted: "\(shown(bounds.lowerBound)) to \(shown(bounds.upperBound))")
    }

    /// Returns the number of one to four digits, in units of `bounds`; `nil` for other texts.
    private func value(_ text: Substring, in item: Substring) throws(ExpressionError) -> Int? {
        guard self == .second, let (whole, fraction) = text.ends(around: ".") else {
            return decimalNumber(text, digits: 4).map { $0 * scale }
        }
        guard let seconds = decimalNumber(whole, digits: 4), !fraction.isEmpty,
            fraction.utf8.allSatisfy({ 0x30...0x39 ~= $0 })
        else { return nil }
        guard fraction.utf8.dropFirst(3).allSatisfy({ $0 == UInt8(ascii: "0") }) else {
            throw ExpressionError(
                .calendar, self, got: item, wanted: "whole milliseconds, such as `10.5`")
        }
        let digits = fraction.prefix(3) + String(repeating: "0", count: 3 - min(fraction.count, 3))
        return decimalNumber(digits, digits: 4).map { seconds * scale + $0 }
    }

    /// Returns a value as an expression writes it.
    private func shown(_ value: Int) -> String {
        guard value % scale != 0 else { return "\(value / scale)" }
        var digits = padded(value % scale, 3)
        while digits.last == "0" { digits.removeLast() }
        return "\(value / scale).\(digits)"
    }
}

extension Substring {
    /// Returns the text before and after the first `mark`; `nil` if there is none.
    func ends(around mark: String) -> (Substring, Substring)? {
        firstRange(of: mark).map { (self[..<$0.lowerBound], self[$0.upperBound...]) }
    }
}

/// The reason why a text is not a cron expression, a calendar expression or a window.
public struct ExpressionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the text should have been.
    public enum Notation: String, Sendable {
        case cron = "cron expression"
        case calendar = "calendar expression"
        case window
    }

    /// A part of an expression, by its common name.
    public enum Field: String, CaseIterable, Sendable {
        case dayOfWeek = "day of week"
        case year
        case month
        case dayOfMonth = "day of month"
        case hour
        case minute
        case second
    }

    public var notation: Notation
    /// The part at fault; `nil` if it is the expression as a whole.
    public var field: Field?
    /// The text that was not understood, truncated to 60 characters.
    public var got: String
    public var wanted: String

    init(
        _ notation: Notation, _ field: Field? = nil, got: some StringProtocol, wanted: String
    ) {
        self.notation = notation
        self.field = field
        self.got = got.count > 60 ? got.prefix(59) + "…" : String(got)
        self.wanted = wanted
    }

    public var description: String {
        let part = field.map { "\($0.rawValue) of the " } ?? ""
        return "\(part)\(notation.rawValue): got `\(got)`, wanted \(wanted)"
    }
}

extension ExpressionError.Field {
    /// The allowed values, for seconds in milliseconds. The years are those that systemd accepts;
    /// Sunday is day 0 of the week.
    var bounds: ClosedRange<Int> {
        switch self {
        case .dayOfWeek: 0...6
        case .year: 1970...2199
        case .month: 1...12
        case .dayOfMonth: 1...31
        case .hour: 0...23
        case .minute: 0...59
        case .second: 0...59_999
        }
    }
}

/// Returns the number that 1 to `digits` decimal digits write; `Int` would accept a sign as well.
func decimalNumber(_ text: some StringProtocol, digits: Int) -> Int? {
    let isNumber =
        (1...digits).contains(text.utf8.count) && text.utf8.allSatisfy { 0x30...0x39 ~= $0 }
    return isNumber ? Int(text) : nil
}

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
