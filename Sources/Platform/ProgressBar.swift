import ClarityScheduler
@preconcurrency import Glibc

/// Decides on the text of a bar that shows how far a piece of work is, and on when to draw it.
public struct ProgressBar: Sendable {
    /// The minimum time between two bars.
    public static let pace = Duration.milliseconds(100)
    /// The time after which the rate and the remaining time are estimated.
    private static let firstEstimate = Duration.seconds(1)

    private let startedAt: Duration
    private var shownAt: Duration?

    /// Creates the bar of work that begins at `elapsed` on the monotonic clock.
    public init(at elapsed: Duration) { startedAt = elapsed }

    /// Returns whether the last bar is old enough for another one, which counts as drawn then.
    public mutating func isDue(at elapsed: Duration) -> Bool {
        if let shownAt, elapsed - shownAt < ProgressBar.pace { return false }
        shownAt = elapsed
        return true
    }

    /// Estimates the remaining time from the share that is done: `9 s left`. `nil` in the first
    /// second, and below 2 %.
    public func timeLeft(_ share: Double, at elapsed: Duration) -> String? {
        let spent = elapsed - startedAt
        guard spent >= ProgressBar.firstEstimate, share >= 0.02 else { return nil }
        let seconds = (Int64(Double(spent.milliseconds) * (1 - share) / share) + 999) / 1000
        return seconds < 60 ? "\(seconds) s left" : "\(seconds / 60) min \(seconds % 60) s left"
    }

    /// Returns how much was done in a second on average: `120/s`. `nil` in the first second.
    public func rate(_ done: Int64, at elapsed: Duration) -> String? {
        let spent = elapsed - startedAt
        guard spent >= ProgressBar.firstEstimate else { return nil }
        return "\(Int64(Double(done) * 1000 / Double(spent.milliseconds)))/s"
    }

    /// Returns a bar and the facts, at most `width` columns wide; the facts alone if the share is
    /// not known, or if there is no room for a bar.
    public static func text(_ facts: [String], share: Double?, width: Int) -> String {
        let text = facts.joined(separator: "  ")
        let room = min(30, width - text.count - 4)
        guard let share, room >= 5 else { return String(text.prefix(width)) }
        let filled = Int((Double(room) * share).rounded(.down))
        return "[" + String(repeating: "=", count: filled)
            + String(repeating: " ", count: room - filled) + "] \(text)"
    }

    /// Returns a share in whole percent.
    public static func percent(_ share: Double) -> Int64 { Int64(share * 100) }
}

/// A line of the error output that is drawn again and again, and removed in the end.
public struct TerminalLine: Sendable {
    /// TIOCGWINSZ (ioctl_tty(2)), a macro that Swift does not see.
    private static let getSize: UInt = 0x5413
    /// Returns to the start of the line, and clears what follows.
    private static let clear = "\r\u{1B}[K"

    private var isDrawn = false

    /// Creates the line; `nil` unless the error output is a terminal that can clear a line.
    /// Elsewhere, the lines would follow one another.
    public init?() {
        guard isatty(STDERR_FILENO) == 1, Environment.value("TERM") != "dumb"
        else { return nil }
    }

    /// The number of columns of the terminal behind a descriptor; `nil` if it reports none.
    public static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, getSize, &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// The widest text that does not wrap; 79 if the terminal does not report its width.
    public var width: Int { (TerminalLine.columns(of: STDERR_FILENO) ?? 80) - 1 }

    /// Shows a text in place of the last one.
    public mutating func draw(_ text: String) {
        isDrawn = true
        fputs("\(TerminalLine.clear)\(text)", stderr)
    }

    /// Removes the text.
    public mutating func erase() {
        if isDrawn { fputs(TerminalLine.clear, stderr) }
        isDrawn = false
    }
}
