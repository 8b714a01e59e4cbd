@preconcurrency import Glibc

/// A bounded first-in, first-out queue between threads.
///
/// `@unchecked`: `waiting`, `isFinished` and `isCancelled` are accessed only while `mutex` is held.
/// The mutex and the condition variable have addresses of their own, which stay valid until the
/// queue's last reference is gone.
public final class BlockingQueue<Element: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let room: Int
    private var waiting: [Element] = []
    private var isFinished = false
    private var isCancelled = false

    /// Creates a queue.
    ///
    /// - Parameter room: how many elements may wait in the queue, at least 1.
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

    /// Adds an element, after waiting until there is room for it.
    ///
    /// - Returns: `false` if the queue is finished or cancelled; the element is dropped.
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

    /// Removes the oldest element, after waiting until there is one.
    ///
    /// - Returns: `nil` if the queue is cancelled, or finished and empty.
    public func take() -> Element? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while waiting.isEmpty, !isFinished, !isCancelled { pthread_cond_wait(changed, mutex) }
        guard !isCancelled, !waiting.isEmpty else { return nil }
        let element = waiting.removeFirst()
        pthread_cond_broadcast(changed)
        return element
    }

    /// Ends the queue after the elements that are waiting; `put` adds no more.
    public func finish() { close { isFinished = true } }

    /// Ends the queue at once: drops the waiting elements and wakes all blocked threads.
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
