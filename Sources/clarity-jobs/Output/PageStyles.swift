import ClarityReports
@preconcurrency import Glibc

extension Console {
    /// The number of columns if it is not a terminal, or one that does not report its width.
    private static let columns = 80
    /// TIOCGWINSZ (ioctl_tty(2)), a macro that Swift does not see.
    private static let getSize: UInt = 0x5413

    /// The style that fits the standard output.
    var pageStyle: PageStyle {
        guard isatty(STDOUT_FILENO) == 1 else {
            return PageStyle(width: Console.columns, isPlain: true)
        }
        var size = winsize()
        let isKnown = ioctl(STDOUT_FILENO, Console.getSize, &size) == 0 && size.ws_col > 0
        let isPlain =
            getenv("NO_COLOR").map { $0.pointee != 0 } ?? false
            || getenv("TERM").map { String(cString: $0) } ?? "dumb" == "dumb"
        return PageStyle(width: isKnown ? Int(size.ws_col) : Console.columns, isPlain: isPlain)
    }
}
