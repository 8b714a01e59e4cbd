import Platform
@preconcurrency import Glibc

/// Writes a scheduler's lines on a thread of its own, so that a pipe that nobody reads, or a disk that
/// is slow, holds up no decision.
///
/// Messages beyond 256 KiB that wait are dropped, and counted once there is room again. Results are
/// never dropped.
final class MessageQueue: Sendable {
    /// The most bytes of messages that wait.
    static let room = 256 << 10

    private struct State: Sendable {
        var lines: [(text: String, isResult: Bool)] = []
        var messageBytes = 0
        var resultsLeft = 0
        var dropped = 0
        /// Whether the thread is writing, or is about to.
        var isWriting = false
    }

    private let state = Monitor(State())
    private let write: @Sendable (_ text: String, _ descriptor: Int32) -> Void

    init(write: @escaping @Sendable (_ text: String, _ descriptor: Int32) -> Void) {
        self.write = write
    }

    /// Puts whole lines in the queue, for standard output or, as messages, for standard error.
    func put(_ text: String, isResult: Bool) {
        let isIdle = state.change { state in
            guard isResult || state.messageBytes + text.utf8.count <= MessageQueue.room else {
                state.dropped += 1
                return false
            }
            state.lines.append((text, isResult))
            if isResult { state.resultsLeft += 1 } else { state.messageBytes += text.utf8.count }
            defer { state.isWriting = true }
            return !state.isWriting
        }
        // A thread for each burst: an idle scheduler has none.
        if isIdle, DetachedThread.start({ self.writeAll() }) != 0 { writeAll() }
    }

    private func writeAll() {
        while let line = next() { write(line.text, line.isResult ? STDOUT_FILENO : STDERR_FILENO) }
    }

    /// Returns the next line; `nil` when there is none, and the thread ends.
    private func next() -> (text: String, isResult: Bool)? {
        state.change { state in
            if state.dropped > 0, state.messageBytes <= MessageQueue.room / 2 {
                defer { state.dropped = 0 }
                return (
                    "clarity-jobs: \(state.dropped) messages were dropped: nobody read standard "
                        + "error in time\n", false
                )
            }
            guard !state.lines.isEmpty else {
                (state.isWriting, state.resultsLeft) = (false, 0)
                return nil
            }
            let line = state.lines.removeFirst()
            state.resultsLeft = state.lines.count(where: \.isResult) + (line.isResult ? 1 : 0)
            if !line.isResult { state.messageBytes -= line.text.utf8.count }
            return line
        }
    }

    /// Waits until all results are written, and so long for the messages.
    func finish(within patience: Duration) {
        state.change(when: { !$0.isWriting || $0.resultsLeft == 0 }) { _ in }
        state.change(when: { !$0.isWriting }, within: patience) { _ in }
    }
}
