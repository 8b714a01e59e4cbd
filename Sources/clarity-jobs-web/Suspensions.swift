import CMicroHTTPD
import Synchronization

/// The connections that wait for something other than their clients.
///
/// A suspended connection stays allocated until it is resumed, so its address identifies it.
final class Suspensions: Sendable {
    private struct State {
        var isClosed = false
        var addresses: Set<UInt> = []
    }

    private let state = Mutex(State())

    /// Suspends a connection until it is resumed or `close` is called; `nil` if the server is
    /// stopping.
    func suspend(_ connection: OpaquePointer) -> ResumableConnection? {
        let address = UInt(bitPattern: connection)
        let isSuspended = state.withLock { state in
            guard !state.isClosed else { return false }
            MHD_suspend_connection(OpaquePointer(bitPattern: address))
            state.addresses.insert(address)
            return true
        }
        return isSuspended ? ResumableConnection(suspensions: self, address: address) : nil
    }

    /// Resumes every connection and suspends no more. Call this before the daemon is stopped.
    func close() {
        state.withLock { state in
            state.isClosed = true
            for address in state.addresses {
                MHD_resume_connection(OpaquePointer(bitPattern: address))
            }
            state.addresses = []
        }
    }

    fileprivate func resume(_ address: UInt) {
        state.withLock { state in
            guard state.addresses.remove(address) != nil else { return }
            MHD_resume_connection(OpaquePointer(bitPattern: address))
        }
    }
}

/// A suspended connection, which any thread may resume.
struct ResumableConnection: Sendable {
    fileprivate let suspensions: Suspensions
    fileprivate let address: UInt

    /// Resumes the connection; does nothing if the server has stopped meanwhile.
    func resume() { suspensions.resume(address) }
}

/// What libmicrohttpd keeps of a body that arrives in parts.
final class StreamedBody {
    private let stream: any AnswerStream
    private let connection: OpaquePointer
    private let suspensions: Suspensions

    private init(
        _ stream: any AnswerStream, _ connection: OpaquePointer, _ suspensions: Suspensions
    ) {
        (self.stream, self.connection, self.suspensions) = (stream, connection, suspensions)
    }

    deinit { stream.abandon() }

    /// Returns a response with the parts of a stream; `nil` if libmicrohttpd has no memory for it.
    static func response(
        _ stream: any AnswerStream, _ connection: OpaquePointer, _ suspensions: Suspensions
    ) -> OpaquePointer? {
        let body = Unmanaged.passRetained(StreamedBody(stream, connection, suspensions))
        let made = MHD_create_response_from_callback(
            cmicrohttpd_size_unknown, 1024,
            { context, _, buffer, room in
                guard let context, let buffer else { return cmicrohttpd_end_with_error }
                let body = Unmanaged<StreamedBody>.fromOpaque(context).takeUnretainedValue()
                return body.read(into: UnsafeMutableRawPointer(buffer), room: room)
            }, body.toOpaque(),
            { context in
                if let context { Unmanaged<StreamedBody>.fromOpaque(context).release() }
            })
        // Without a response, nothing else releases the body.
        if made == nil { body.release() }
        return made
    }

    private func read(into buffer: UnsafeMutableRawPointer, room: Int) -> Int {
        var isStopping = false
        let part = stream.next(room: room) {
            let suspended = suspensions.suspend(connection)
            isStopping = suspended == nil
            return suspended
        }
        guard let part else { return isStopping ? cmicrohttpd_end_of_stream : 0 }
        guard !part.isEmpty else { return cmicrohttpd_end_of_stream }
        part.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress {
                buffer.copyMemory(from: start, byteCount: bytes.count)
            }
        }
        return part.count
    }
}
