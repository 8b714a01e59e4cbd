import CLinux
import Glibc
import Synchronization

/// Hears that pressure rises, while somebody has to know.
///
/// A trigger fires every two seconds for as long as the machine is busy, so that there are none but
/// while an attempt runs that may have to stop for it: who waits, waits for a fall, of which nobody
/// tells.
final class PressureWatch: Sendable {
    private struct State {
        /// An epoll(7) descriptor that holds the triggers; -1 until somebody listens.
        var poll: Int32 = -1
        var triggers: [Int32] = []
    }

    private let state = Mutex(State())

    deinit {
        state.withLock { state in
            for descriptor in state.triggers + [state.poll] where descriptor >= 0 {
                close(descriptor)
            }
        }
    }

    /// What tells of a rise; nothing where the process has no descriptor left.
    func sources() -> [EventSource<Void>] {
        let (poll, listener) = state.withLock { state in
            if state.poll < 0 { state.poll = clinux_poll() }
            return (state.poll, state.poll < 0 ? -1 : fcntl(state.poll, F_DUPFD_CLOEXEC, 0))
        }
        guard listener >= 0 else { return [] }
        return [
            EventSource(descriptor: listener) {
                var ready = [Int32](repeating: -1, count: Int(CLINUX_MOST_READY))
                return clinux_poll_wait(poll, &ready, 0) > 0 ? () : nil
            }
        ]
    }

    /// Listens for a pressure above so many percent from now on; `nil` stops that. What the kernel
    /// does not let us hear of stays silent.
    func listen(above percent: Int?) {
        state.withLock { state in
            guard state.poll >= 0, (percent != nil) == state.triggers.isEmpty else { return }
            state.triggers.forEach { close($0) }
            state.triggers = []
            guard let percent else { return }
            for resource in PressureProbe.resources {
                do throws(PressureTrigger.Fault) {
                    let trigger = try PressureTrigger.open(resource, percent: percent)
                    state.triggers.append(trigger)
                    _ = clinux_poll_add(state.poll, trigger, 1)
                } catch {
                    // `standings` says so to whoever asks.
                    continue
                }
            }
        }
    }

    /// Of which resources a rise could be heard.
    static func standings(above percent: Int) -> [KernelEvents.Standing] {
        PressureProbe.resources.map { resource in
            let subject = "pressure on \(resource)"
            do throws(PressureTrigger.Fault) {
                close(try PressureTrigger.open(resource, percent: percent))
                return KernelEvents.Standing(subject: subject)
            } catch {
                return KernelEvents.Standing(subject: subject, fault: error.reason)
            }
        }
    }
}
