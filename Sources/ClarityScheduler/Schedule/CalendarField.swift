// The numbers of a calendar expression.
extension CalendarError.Field {
    /// What `*` stands for; the years are those that systemd takes.
    var bounds: ClosedRange<Int> {
        switch self {
        case .dayOfWeek: 1...7
        case .year: 1970...2199
        case .month: 1...12
        case .dayOfMonth: 1...31
        case .hour: 0...23
        case .minute, .second: 0...59
        }
    }

    /// The values that a list of numbers, ranges and steps names; `nil` for `*`, which is all.
    ///
    /// Days from a month's end (`isFromEnd`) go on towards that end: `07/1` is 7, 6 ... 1.
    func values(
        _ text: Substring, isFromEnd: Bool = false
    ) throws(CalendarError) -> [Int]? {
        if text == "*" { return nil }
        var values: Set<Int> = []
        for item in text.split(separator: ",", omittingEmptySubsequences: false) {
            let (range, step) = try parts(of: item)
            let ends = range.ends(around: "..")
            let first = try number(ends?.0 ?? range, in: item)
            var last = first
            if let end = ends?.1 {
                last = try number(end, in: item)
                guard first <= last else {
                    throw CalendarError(
                        self, got: item, wanted: "a range that rises, such as `\(end)..\(first)`")
                }
            } else if step != nil {
                last = isFromEnd ? bounds.lowerBound : bounds.upperBound
            }
            let room = abs(last - first)
            let by = try step.map { text throws(CalendarError) in
                try self.step(text, of: room, in: item)
            }
            values.formUnion(
                stride(from: first, through: last, by: (by ?? 1) * (last < first ? -1 : 1)))
        }
        return Array(values)
    }

    /// An item without its step, and the step.
    private func parts(
        of item: Substring
    ) throws(CalendarError) -> (range: Substring, step: Substring?) {
        if item.isEmpty {
            throw CalendarError(self, got: item, wanted: "a value on each side of every `,`")
        }
        guard let slash = item.firstIndex(of: "/") else { return (item, nil) }
        let range = item[..<slash]
        if range == "*" {
            throw CalendarError(
                self, got: item,
                wanted: "the first value before `/`, such as "
                    + "`\(bounds.lowerBound)\(item[slash...])`")
        }
        return (range, item[slash...].dropFirst())
    }

    private func step(
        _ text: Substring, of room: Int, in item: Substring
    ) throws(CalendarError) -> Int {
        guard room > 0 else {
            throw CalendarError(self, got: item, wanted: "no `/` where nothing follows the value")
        }
        guard let number = calendarNumber(text), (1...room).contains(number) else {
            throw CalendarError(self, got: item, wanted: "a step of 1 to \(room)")
        }
        return number
    }

    private func number(_ text: Substring, in item: Substring) throws(CalendarError) -> Int {
        if var number = calendarNumber(text) {
            // Two digits are a year as people say it: 1970 to 2069.
            if self == .year, text.utf8.count <= 2 { number += number < 70 ? 2000 : 1900 }
            if bounds.contains(number) { return number }
        }
        if self == .second, text.contains(".") {
            throw CalendarError(self, got: item, wanted: "whole seconds")
        }
        throw CalendarError(
            self, got: item, wanted: "\(bounds.lowerBound) to \(bounds.upperBound)")
    }
}

/// The number that one to four digits write; `Int` would take a sign as well.
private func calendarNumber(_ text: Substring) -> Int? {
    let isNumber = (1...4).contains(text.utf8.count) && text.utf8.allSatisfy { 0x30...0x39 ~= $0 }
    return isNumber ? Int(text) : nil
}

extension Substring {
    /// What stands before and after the first `mark`; `nil` when there is none.
    func ends(around mark: String) -> (Substring, Substring)? {
        firstRange(of: mark).map { (self[..<$0.lowerBound], self[$0.upperBound...]) }
    }
}
