import Reports
import Platform
@preconcurrency import Glibc

extension Console {
    /// The number of columns of a terminal that does not report its width.
    private static let columns = 80
    /// The number of columns of a file or a pipe: nothing is cut or wrapped for it.
    private static let boundless = 1 << 16

    /// The style that fits the standard output.
    var pageStyle: PageStyle {
        terminalStyle ?? PageStyle(width: Console.boundless, isPlain: true)
    }

    /// The style of the terminal that is the standard output; `nil` if it is none.
    var terminalStyle: PageStyle? {
        guard isatty(STDOUT_FILENO) == 1 else { return nil }
        let isPlain =
            Environment.value("NO_COLOR").map { !$0.isEmpty } ?? false
            || Environment.value("TERM") ?? "dumb" == "dumb"
        var style = PageStyle(
            width: TerminalLine.columns(of: STDOUT_FILENO) ?? Console.columns, isPlain: isPlain)
        style.times = times
        return style
    }

    /// Whether a person may see some of the output.
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 || isatty(STDERR_FILENO) == 1 }
}

extension PageStyle {
    /// The colours of states (ECMA-48): red for what failed, yellow for what is open.
    private static let colours = [
        "failed": 31, "missed": 31, "is overdue": 31, "not fresh": 31, "overdue": 31,
        "succeeded": 32, "holds": 32, "fresh": 32,
        "enqueued": 33, "open": 33, "running": 36,
    ]

    /// Returns a state in its colour; unchanged if it has none, or if the style is plain.
    func painted(_ state: String) -> String {
        guard !isPlain, let colour = PageStyle.colours[state] else { return state }
        return "\u{1B}[\(colour)m\(state)\u{1B}[0m"
    }
}
