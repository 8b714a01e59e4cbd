@preconcurrency import Glibc

/// A state that threads change, and whose changes they wait for.
///
/// `@unchecked`: `state` is accessed only while `mutex` is held. The mutex and the condition
/// variable have addresses of their own, which stay valid until the monitor's last reference is
/// gone.
final class Monitor<State: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var state: State

    init(_ state: State) {
        self.state = state
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // A change of the wall clock must not lengthen or shorten a wait.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Changes the state once `isReady` holds, and wakes all who wait.
    ///
    /// - Parameter deadline: a time of CLOCK_MONOTONIC after which `change` is called even if
    ///   `isReady` does not hold; `nil` for none.
    func change<Result>(
        when isReady: (State) -> Bool = { _ in true }, before deadline: timespec? = nil,
        _ change: (inout State) -> Result
    ) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !isReady(state) {
            guard var deadline else {
                pthread_cond_wait(changed, mutex)
                continue
            }
            if pthread_cond_timedwait(changed, mutex, &deadline) == ETIMEDOUT { break }
        }
        defer { pthread_cond_broadcast(changed) }
        return change(&state)
    }
}
