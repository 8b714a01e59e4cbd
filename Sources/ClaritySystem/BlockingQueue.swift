@preconcurrency import Glibc

/// Hands elements from one thread to another, in their order, with a bounded number under way.
///
/// `@unchecked`: `waiting`, `isFinished` and `isCancelled` are touched only while `mutex` is held, and
/// the two primitives live at an address of their own until nobody has the handover any more.
public final class BlockingQueue<Element: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let room: Int
    private var waiting: [Element] = []
    private var isFinished = false
    private var isCancelled = false

    /// Creates a handover.
    ///
    /// - Parameter room: how many elements may wait to be taken, at least 1.
    public init(room: Int) {
        precondition(room >= 1, "a handover needs room for an element, got \(room)")
        self.room = room
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Hands over an element as soon as there is room for it.
    ///
    /// - Returns: false when nothing is taken any more; the element is dropped.
    public func put(_ element: Element) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while waiting.count >= room, !isFinished, !isCancelled {
            pthread_cond_wait(changed, mutex)
        }
        guard !isCancelled, !isFinished else { return false }
        waiting.append(element)
        pthread_cond_broadcast(changed)
        return true
    }

    /// Takes the element that has waited longest, and waits for one where there is none.
    ///
    /// - Returns: `nil` when no more comes.
    public func take() -> Element? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while waiting.isEmpty, !isFinished, !isCancelled { pthread_cond_wait(changed, mutex) }
        guard !isCancelled, !waiting.isEmpty else { return nil }
        let element = waiting.removeFirst()
        pthread_cond_broadcast(changed)
        return element
    }

    /// Says that no more comes; what waits is still taken.
    public func finish() { close { isFinished = true } }

    /// Ends the handover at once: what waits is dropped, and whoever waits goes on.
    public func cancel() {
        close {
            isCancelled = true
            waiting = []
        }
    }

    private func close(_ body: () -> Void) {
        pthread_mutex_lock(mutex)
        body()
        pthread_cond_broadcast(changed)
        pthread_mutex_unlock(mutex)
    }
}
