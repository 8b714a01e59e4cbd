import ClarityScheduler
import Platform
import Synchronization

/// Shows how far running attempts are, on one line of the terminal that is drawn again and again.
final class RunDisplay: Sendable {
    /// The part of an attempt that is under way, such as the reading of a file.
    private struct Part {
        var bar: ProgressBar
        var total: Int64
        var done: Int64 = 0
        var seenAt: Duration
    }

    private struct State {
        var line: TerminalLine?
        var parts: [RunID: Part] = [:]
    }

    private let clock: any WallClock
    private let state: Mutex<State>

    init(isShown: Bool, clock: any WallClock) {
        self.clock = clock
        state = Mutex(State(line: isShown ? TerminalLine() : nil))
    }

    /// Shows that an attempt has done `done` of `total`, if it is time to.
    func show(_ order: AttemptOrder, _ done: Int64, _ total: Int64) {
        let now = clock.elapsed
        state.withLock { state in
            guard let width = state.line?.width, total > 0 else { return }
            let last = state.parts[order.run]
            var part =
                last
                ?? Part(bar: ProgressBar(at: now), total: total, seenAt: now)
            if total != part.total || done < part.done {
                // The next part began when the last one was seen to end.
                part = Part(bar: ProgressBar(at: part.seenAt), total: total, seenAt: now)
            }
            (part.done, part.seenAt) = (done, now)
            if part.bar.isDue(at: now) {
                state.line?.draw(RunDisplay.text(order.job, part, at: now, width: width))
            }
            state.parts[order.run] = part
        }
    }

    /// Removes the line while `write` writes others.
    func writing(_ write: () -> Void) {
        state.withLock { state in
            state.line?.erase()
            write()
        }
    }

    private static func text(_ job: JobID, _ part: Part, at now: Duration, width: Int) -> String {
        let share = min(1, max(0, Double(part.done) / Double(part.total)))
        var facts = [job.rawValue, "\(ProgressBar.percent(share)) %"]
        // A total of 100 is a percentage already.
        if part.total != 100 {
            facts.append("\(part.done) of \(part.total)")
            if let rate = part.bar.rate(part.done, at: now) { facts.append(rate) }
        }
        if let left = part.bar.timeLeft(share, at: now) { facts.append(left) }
        return ProgressBar.text(facts, share: share, width: width)
    }
}
