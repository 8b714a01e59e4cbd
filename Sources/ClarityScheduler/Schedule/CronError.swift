/// The reason why a text is not a cron expression.
public struct CronError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One of the five fields of an expression, by its common name.
    public enum Field: String, CaseIterable, Sendable {
        case minute
        case hour
        case dayOfMonth = "day of month"
        case month
        case dayOfWeek = "day of week"
    }

    /// The field at fault; `nil` if it is the expression as a whole.
    public var field: Field?
    /// The part of the text that was not understood, truncated to 60 characters.
    public var got: String
    public var wanted: String

    init(_ field: Field?, got: some StringProtocol, wanted: String) {
        self.field = field
        self.got = got.count > 60 ? got.prefix(59) + "…" : String(got)
        self.wanted = wanted
    }

    public var description: String {
        let place = field.map { "\($0.rawValue) of the cron expression" } ?? "cron expression"
        return "\(place): got `\(got)`, wanted \(wanted)"
    }
}
