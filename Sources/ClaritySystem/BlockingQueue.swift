/// A bounded first-in, first-out queue between threads.
public final class BlockingQueue<Element: Sendable>: Sendable {
    private struct State: Sendable {
        var waiting: [Element] = []
        var isFinished = false
        var isCancelled = false

        var isClosed: Bool { isFinished || isCancelled }
    }

    private let state = Monitor(State())
    private let room: Int

    /// Creates a queue.
    ///
    /// - Parameter room: how many elements may wait in the queue, at least 1.
    public init(room: Int) {
        precondition(room >= 1, "a queue needs room for an element, got \(room)")
        self.room = room
    }

    /// Adds an element, after waiting until there is room for it.
    ///
    /// - Returns: `false` if the queue is finished or cancelled; the element is dropped.
    public func put(_ element: Element) -> Bool {
        state.change(when: { $0.waiting.count < room || $0.isClosed }) { state in
            guard !state.isClosed else { return false }
            state.waiting.append(element)
            return true
        }
    }

    /// Removes the oldest element, after waiting until there is one.
    ///
    /// - Returns: `nil` if the queue is cancelled, or finished and empty.
    public func take() -> Element? {
        state.change(when: { !$0.waiting.isEmpty || $0.isClosed }) { state in
            state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
    }

    /// Ends the queue after the elements that are waiting; `put` adds no more.
    public func finish() { state.change { $0.isFinished = true } }

    /// Ends the queue at once: drops the waiting elements and wakes all blocked threads.
    public func cancel() {
        state.change { state in
            state.isCancelled = true
            state.waiting = []
        }
    }
}
