import CMicroHTTPD
import HTTPServing

/// An answer to a request.
struct Answer: Sendable {
    var status: UInt32
    var type = "text/plain; charset=utf-8"
    var text: String
    /// Further headers by name.
    var headers: [String: String] = [:]
}

/// The line and the headers of a request; valid while its service accepts it.
struct RequestHead {
    var method: String
    var path: String
    fileprivate let connection: OpaquePointer

    /// Returns the first header of this name, in whatever case it is written.
    subscript(name: String) -> String? {
        MHD_lookup_connection_value(connection, .HEADER_KIND, name).map { String(cString: $0) }
    }
}

/// A request whose body may still be arriving. This one discards the body, because a client that is
/// still writing would not see an answer.
///
/// It is released when the request is over, answered or not.
class Exchange {
    private let respond: () -> Answer
    private var room: Int

    /// Creates an exchange with the answer that `respond` returns after the whole request.
    ///
    /// - Parameter most: the most bytes that are discarded; more of them close the connection.
    init(discarding most: Int = 64 << 10, _ respond: @escaping () -> Answer) {
        room = most
        self.respond = respond
    }

    /// Takes the next bytes of the body; returns `false` to close the connection.
    func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        room -= bytes.count
        return room >= 0
    }

    /// Returns the answer, after the whole body was taken.
    func answer() -> Answer { respond() }
}

/// Serves requests with libmicrohttpd and one thread.
///
/// From `init` to `stop`, the service belongs to the
/// server's thread.
final class WebServer {
    /// The texts, in PEM, of a certificate with those that sign it, and of its key.
    struct Identity {
        var certificate: String
        var key: String
    }

    /// Begins an exchange for a request, on the server's thread.
    typealias Service = (RequestHead) -> Exchange

    /// The address that the server listens on, with the actual port.
    let address: ListenAddress
    private let context: Context
    private var daemon: OpaquePointer?

    fileprivate final class Context {
        let service: Service

        init(_ service: @escaping Service) { self.service = service }
    }

    /// Starts the server; `nil` if libmicrohttpd cannot start its thread or use the identity.
    ///
    /// - Parameters:
    ///   - connections: how many are served at the same time; the server closes any others.
    ///   - patience: the seconds after which it closes a silent connection.
    init?(
        _ listener: consuming Listener, connections: UInt32, patience: UInt32,
        identity: Identity? = nil, service: @escaping Service
    ) {
        address = listener.address
        context = Context(service)
        daemon = cmicrohttpd_start(
            listener.release(), answer, forget, nil, Unmanaged.passUnretained(context).toOpaque(),
            connections, patience, identity?.certificate, identity?.key)
        if daemon == nil { return nil }
    }

    deinit { stop() }

    /// Closes every connection and ends the thread.
    func stop() {
        guard let daemon else { return }
        MHD_stop_daemon(daemon)
        self.daemon = nil
    }
}

// The callbacks are isolated to no actor: they run on libmicrohttpd's thread.

private func answer(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ url: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?,
    _ version: UnsafePointer<CChar>?, _ data: UnsafePointer<CChar>?,
    _ size: UnsafeMutablePointer<Int>?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let context, let connection, let url, let method, let size, let state else {
        return .NO
    }
    // The first call is for the head of the request. An answer to it would close the connection.
    guard let known = state.pointee else {
        let server = Unmanaged<WebServer.Context>.fromOpaque(context).takeUnretainedValue()
        let exchange = server.service(
            RequestHead(
                method: String(cString: method), path: String(cString: url),
                connection: connection))
        state.pointee = Unmanaged.passRetained(exchange).toOpaque()
        return .YES
    }
    let exchange = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
    guard size.pointee > 0 else { return exchange.answer().queue(on: connection) }
    let bytes = UnsafeRawBufferPointer(start: data, count: size.pointee)
    size.pointee = 0
    return exchange.take(bytes) ? .YES : .NO
}

private func forget(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ reason: MHD_RequestTerminationCode
) {
    guard let known = state?.pointee else { return }
    Unmanaged<Exchange>.fromOpaque(known).release()
    state?.pointee = nil
}

extension Answer {
    fileprivate func queue(on connection: OpaquePointer) -> MHD_Result {
        var text = text
        let made = text.withUTF8 { bytes in
            // The bytes are copied. The pointer is mutable only because other modes need it.
            MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                .RESPMEM_MUST_COPY)
        }
        guard let made else { return .NO }
        defer { MHD_destroy_response(made) }
        let usual = [
            "Content-Type": type, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
        ]
        for (name, value) in usual.merging(headers, uniquingKeysWith: { $1 }) {
            guard MHD_add_response_header(made, name, value) == .YES else { return .NO }
        }
        return MHD_queue_response(connection, status, made)
    }
}
