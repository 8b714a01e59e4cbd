/// The values that one field of a cron expression names.
struct CronField: Hashable, Sendable {
    /// Sunday is 0.
    private(set) var values = NumberSet()
    /// Whether the text begins with `*`. crontab(5) and cron(8) look at nothing else to tell a
    /// wildcard from a restriction: `*/2` is a wildcard, `0-59` is not.
    let isWildcard: Bool
    /// An error for the first step that is larger than its range; `nil` without one.
    private(set) var overstep: ExpressionError?

    /// Parses a field: a list of values and ranges, each range with an optional step.
    init(_ text: Substring, as field: ExpressionError.Field) throws(ExpressionError) {
        isWildcard = text.first == "*"
        for item in text.split(separator: ",", omittingEmptySubsequences: false) {
            if item.isEmpty {
                throw ExpressionError(
                    .cron, field, got: text, wanted: "a value on each side of every `,`")
            }
            let parts = item.split(
                separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            let range = try field.range(parts[0], in: item)
            var step = 1
            if parts.count == 2 {
                if range.isSingle {
                    let rest = "\(parts[0])-\(field.bounds.upperBound)/\(parts[1])"
                    throw ExpressionError(
                        .cron, field, got: item,
                        wanted: "a range before the `/`, such as `\(rest)`")
                }
                guard let number = decimalNumber(parts[1], digits: 4), number > 0 else {
                    throw ExpressionError(.cron, field, got: item, wanted: "a step of 1 to 9999")
                }
                step = number
                let room = range.last - range.first
                if overstep == nil, room > 0, number > room {
                    overstep = ExpressionError(
                        .cron, field, got: item, wanted: "a step of 1 to \(room)")
                }
            }
            for value in stride(from: range.first, through: range.last, by: step) {
                values.insert(field == .dayOfWeek ? value % 7 : value)
            }
        }
    }
}

extension ExpressionError.Field {
    fileprivate typealias Range = (first: Int, last: Int, isSingle: Bool)

    fileprivate func range(
        _ text: Substring, in item: Substring
    ) throws(ExpressionError) -> Range {
        if text == "*" { return (bounds.lowerBound, bounds.upperBound, false) }
        let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let first = try value(ends[0], in: item)
        guard ends.count == 2 else { return (first, first, true) }
        var last = try value(ends[1], in: item)
        // Sunday can end a range as well as begin one: `sat-sun`.
        if self == .dayOfWeek, last == 0, first > 0 { last = 7 }
        guard first <= last else {
            throw ExpressionError(
                .cron, self, got: item,
                wanted: "a range that rises, such as `\(ends[1])-\(ends[0])`")
        }
        return (first, last, false)
    }

    private func value(_ text: Substring, in item: Substring) throws(ExpressionError) -> Int {
        // 7 is Sunday too, but `*` does not need it.
        let accepted = self == .dayOfWeek ? 0...7 : bounds
        if let number = decimalNumber(text, digits: 3), accepted.contains(number) { return number }
        if let index = names.firstIndex(of: text.lowercased()) {
            return index + bounds.lowerBound
        }
        var wanted = "\(accepted.lowerBound) to \(accepted.upperBound)"
        if let first = names.first, let last = names.last {
            wanted += " or `\(first)` to `\(last)`"
        }
        throw ExpressionError(.cron, self, got: item, wanted: wanted)
    }

    private var names: [String] {
        switch self {
        case .minute, .hour, .dayOfMonth, .year, .second: []
        case .month:
            [
                "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov",
                "dec",
            ]
        case .dayOfWeek: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
        }
    }
}
