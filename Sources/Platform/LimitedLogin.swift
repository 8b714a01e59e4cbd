import ClarityScheduler

/// What the worker writes instead of a message if the backend's limiter refuses the login of an
/// account of a table: `limited 60000`, with the milliseconds until the next one may be tried.
public enum LimitedLogin {
    private static let word = "limited "

    /// Returns the line for a wait.
    public static func line(_ wait: Duration) -> String { word + String(wait.milliseconds) }

    /// Returns the wait that an output names; `nil` if it is no such line.
    public static func wait(in output: String) -> Duration? {
        let line = output.split(separator: "\n").first ?? ""
        guard line.hasPrefix(word) else { return nil }
        return Int64(line.dropFirst(word.count)).map { .milliseconds($0) }
    }
}
