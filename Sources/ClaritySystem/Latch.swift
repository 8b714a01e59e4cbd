@preconcurrency import Glibc

/// A latch that opens once and that threads wait for with a timeout.
///
/// `@unchecked`: `isOpen` is accessed only while `mutex` is held. The mutex and the condition
/// variable have addresses of their own, which stay valid until the latch's last reference is gone.
public final class Latch: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let opened = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var isOpen = false

    /// Creates a closed latch.
    public init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // A change of the wall clock must not lengthen or shorten a wait.
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

    /// Opens the latch for good.
    public func open() {
        pthread_mutex_lock(mutex)
        isOpen = true
        pthread_cond_broadcast(opened)
        pthread_mutex_unlock(mutex)
    }

    /// Waits until the latch is open, at most for so many milliseconds, and returns whether it is.
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
