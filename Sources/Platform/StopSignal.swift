@preconcurrency import Glibc
import Synchronization

/// The SIGINT or SIGTERM that asks a program to end at its next good point.
///
/// For a program that works on one thread and looks at `received` between two steps. A second signal
/// of the same kind ends the program at once, as users expect of a second Ctrl-C.
public enum StopSignal {
    /// The number of the first signal that came; `nil` if none did.
    public static var received: Int32? {
        let number = stopSignal.load(ordering: .relaxed)
        return number == 0 ? nil : number
    }

    /// The status of a program that a signal ended.
    public static var status: ExitStatus { received == SIGTERM ? .terminated : .interrupted }

    /// Takes over the signals, before the work begins.
    public static func prepare() {
        // Created first: the signal handler must not be the one that creates it.
        _ = received
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM] {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                stopSignal.store(number, ordering: .relaxed)
            }
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND)) | SA_RESTART
            sigaction(number, &action, nil)
            sigaddset(&signals, number)
        }
        // The process that started this one may have blocked them.
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }
}

/// Set by the handler. Global, because a signal handler can reach nothing else.
private let stopSignal = Atomic<Int32>(0)
