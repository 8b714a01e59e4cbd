/// Why a text is no cron expression.
public struct CronError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One of an expression's five fields, by the name people give it.
    public enum Field: String, CaseIterable, Sendable {
        case minute
        case hour
        case dayOfMonth = "day of month"
        case month
        case dayOfWeek = "day of week"
    }

    /// The field at fault; `nil` when it is the expression as a whole.
    public var field: Field?
    /// The part of the text that was not understood, at most 60 characters of it.
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
