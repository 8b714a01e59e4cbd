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
