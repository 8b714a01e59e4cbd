import Import
import ClarityScheduler
import Platform
import ClarityJobs
import Synchronization

/// Shows the progress of an import on the error output: as a bar on a terminal, else as lines.
final class ImportDisplay: Sendable {
    private struct State {
        var text: ImportProgressText
        /// `nil` where progress is written as lines.
        var line: TerminalLine?
    }

    private let isQuiet: Bool
    private let clock: any WallClock
    private let state: Mutex<State>

    init(isQuiet: Bool, clock: any WallClock) {
        self.isQuiet = isQuiet
        self.clock = clock
        state = Mutex(State(text: ImportProgressText(at: clock.elapsed), line: TerminalLine()))
    }

    /// Shows the progress if it is time to.
    func show(_ progress: ImportProgress, of path: String) {
        guard !isQuiet else { return }
        state.withLock { state in
            if let width = state.line?.width {
                let bar = state.text.bar(progress, at: clock.elapsed, width: width)
                if let bar { state.line?.draw(bar) }
            } else {
                let name = path.split(separator: "/").last.map(String.init) ?? path
                if let line = state.text.line(progress, name: name) { printError(line) }
            }
        }
    }

    /// Removes the bar.
    func end() { state.withLock { $0.line?.erase() } }
}
