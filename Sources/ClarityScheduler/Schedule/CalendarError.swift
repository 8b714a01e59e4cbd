/// The reason why a text is not a calendar expression.
public struct CalendarError: Error, Hashable, Sendable, CustomStringConvertible {
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

    /// The part at fault; `nil` if it is the expression as a whole.
    public var field: Field?
    /// The text that was not understood, truncated to 60 characters.
    public var got: String
    public var wanted: String

    init(_ field: Field?, got: some StringProtocol, wanted: String) {
        self.field = field
        self.got = got.count > 60 ? got.prefix(59) + "…" : String(got)
        self.wanted = wanted
    }

    public var description: String {
        let place = field.map { "\($0.rawValue) of the calendar expression" }
        return "\(place ?? "calendar expression"): got `\(got)`, wanted \(wanted)"
    }
}
