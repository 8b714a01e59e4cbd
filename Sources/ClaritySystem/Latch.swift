@preconcurrency import Glibc

/// Is opened once, and can be waited for, but not for ever.
///
/// `@unchecked`: `isOpen` is touched only while `mutex` is held, and the two primitives live at an
/// address of their own until nobody has the latch any more.
public final class Latch: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let opened = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var isOpen = false

    /// Creates a latch that is closed.
    public init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // A change of the wall clock must neither lengthen nor cut a wait.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(opened, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(opened)
        pthread_mutex_destroy(mutex)
        opened.deallocate()
        mutex.deallocate()
    }

    /// Opens it for good.
    public func open() {
        pthread_mutex_lock(mutex)
        isOpen = true
        pthread_cond_broadcast(opened)
        pthread_mutex_unlock(mutex)
    }

    /// Whether it is open; waits for that, but no longer than so many milliseconds.
    public func isOpen(within milliseconds: Int32) -> Bool {
        var until = timespec()
        clock_gettime(CLOCK_MONOTONIC, &until)
        until.tv_sec += Int(milliseconds / 1000)
        until.tv_nsec += Int(milliseconds % 1000) * 1_000_000
        if until.tv_nsec >= 1_000_000_000 {
            until.tv_sec += 1
            until.tv_nsec -= 1_000_000_000
        }
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !isOpen {
            guard pthread_cond_timedwait(opened, mutex, &until) != ETIMEDOUT else { break }
        }
        return isOpen
    }
}
