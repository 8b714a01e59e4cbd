import ClaritySources
import ClarityScheduler
import ClaritySystem
import ClarityWorkers
@preconcurrency import Glibc
import Synchronization

/// Shows the progress of an import on the error output: as a bar on a terminal, else as lines.
final class ImportDisplay: Sendable {
    /// TIOCGWINSZ (ioctl_tty(2)), a macro that Swift does not see.
    private static let getWindowSize: UInt = 0x5413
    /// Returns to the start of the line, and clears what follows.
    private static let (start, clear) = ("\r", "\r\u{1B}[K")

    private struct State {
        var text: ImportProgressText
        var isDrawn = false
    }

    private let isQuiet: Bool
    private let isTerminal: Bool
    private let clock: any WallClock
    private let state: Mutex<State>

    init(isQuiet: Bool, clock: any WallClock) {
        self.isQuiet = isQuiet
        self.clock = clock
        let terminal = getenv("TERM").map { String(cString: $0) }
        // On a terminal that cannot clear a line, the bars would follow one another.
        isTerminal = isatty(STDERR_FILENO) == 1 && terminal != "dumb"
        state = Mutex(State(text: ImportProgressText(at: clock.elapsed)))
    }

    /// Shows the progress if it is time to.
    func show(_ progress: ImportProgress, of order: AttemptOrder) {
        guard !isQuiet else { return }
        state.withLock { state in
            if isTerminal {
                let bar = state.text.bar(progress, at: clock.elapsed, width: width - 1)
                guard let bar else { return }
                state.isDrawn = true
                fputs("\(ImportDisplay.clear)\(bar)", stderr)
            } else {
                let path = order.options["sources.0.path"] ?? ""
                let name = path.split(separator: "/").last.map(String.init) ?? path
                if let line = state.text.line(progress, name: name) { printError(line) }
            }
        }
    }

    /// Removes the bar.
    func end() {
        state.withLock { state in
            if state.isDrawn { fputs(ImportDisplay.clear, stderr) }
            state.isDrawn = false
        }
    }

    private var width: Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, ImportDisplay.getWindowSize, &size) == 0, size.ws_col > 0 else {
            return 80
        }
        return Int(size.ws_col)
    }
}
