import CMicroHTTPD
import Dispatch
import Synchronization

/// The connections that wait for a time, or until the server stops.
///
/// A suspended connection stays allocated until it is resumed, so its address identifies it.
final class Suspensions: Sendable {
    private struct State {
        var isClosed = false
        var addresses: Set<UInt> = []
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "clarity-jobs-sandbox.latency")

    /// Suspends a connection for `delay` or until `close`; `false` if the server is stopping.
    func suspend(_ connection: OpaquePointer, for delay: Duration?) -> Bool {
        let address = UInt(bitPattern: connection)
        let isSuspended = state.withLock { state in
            guard !state.isClosed else { return false }
            MHD_suspend_connection(OpaquePointer(bitPattern: address))
            state.addresses.insert(address)
            return true
        }
        if isSuspended, let delay {
            queue.asyncAfter(
                deadline: .now() + .milliseconds(Int(delay.wholeMilliseconds))
            ) { [self] in
                state.withLock { state in
                    guard state.addresses.remove(address) != nil else { return }
                    MHD_resume_connection(OpaquePointer(bitPattern: address))
                }
            }
        }
        return isSuspended
    }

    /// Resumes every connection and accepts no more. Call this before the daemon is stopped.
    func close() {
        state.withLock { state in
            state.isClosed = true
            for address in state.addresses {
                MHD_resume_connection(OpaquePointer(bitPattern: address))
            }
            state.addresses = []
        }
    }
}
