import CMicroHTTPD
import Platform

/// Serves the service on a socket, with libmicrohttpd and one thread.
///
/// From `init` to `stop`, the service and its store belong to that thread. Nobody else may use
/// them.
final class HTTPServer {
    /// The address that the server listens on, with the actual port.
    let address: ListenAddress
    /// How long a connection may be silent, in seconds. libmicrohttpd 0.9 does not notice that a
    /// client went in the middle of a request. A connection that waits on purpose is never silent.
    private static let patience: UInt32 = 30
    private let context: Context
    private var daemon: OpaquePointer?

    /// The data that the callbacks use.
    fileprivate final class Context {
        let service: Service
        let suspensions = Suspensions()
        /// The number of the newest connection; numbers are unique within one record.
        var connections: Int

        init(_ service: Service) {
            self.service = service
            connections = service.recordedConnections
        }
    }

    /// Starts the server; `nil` if libmicrohttpd cannot start its thread.
    init?(_ service: Service, _ listener: consuming Listener) {
        address = listener.address
        context = Context(service)
        let socket = listener.release()
        daemon = cmicrohttpd_start(
            socket, answer, forget, numberConnection, nil,
            Unmanaged.passUnretained(context).toOpaque(), 512, HTTPServer.patience, nil, nil)
        if daemon == nil { return nil }
    }

    deinit { stop() }

    /// Closes every connection and ends the thread. Afterwards the service belongs to the caller
    /// again.
    func stop() {
        guard let daemon else { return }
        context.suspensions.close()
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
    let server = Unmanaged<HTTPServer.Context>.fromOpaque(context).takeUnretainedValue()
    guard let known = state.pointee else {
        let exchange = Exchange(
            connection, method: String(cString: method), path: String(cString: url),
            mostBytes: server.service.dialect.limits.bodyBytes)
        state.pointee = Unmanaged.passRetained(exchange).toOpaque()
        return .YES
    }
    let exchange = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
    if size.pointee > 0 {
        exchange.append(UnsafeRawBufferPointer(start: data, count: size.pointee))
        size.pointee = 0
        return .YES
    }
    let reply: Reply
    if let decided = exchange.reply {
        reply = decided
    } else {
        reply = server.service.reply(to: exchange.whole)
        exchange.reply = reply
        // When it is resumed, the connection arrives here again and finds the reply decided.
        if let delay = reply.delay {
            return server.suspensions.suspend(connection, for: delay) ? .YES : .NO
        }
    }
    exchange.isAbandoned = isClosed(connection)
    switch reply.delivery {
    case .whole(let response): return response.queue(on: connection)
    case .half(let response): return response.queueHalf(on: connection)
    case .reset:
        resetConnection(connection)
        return .NO
    case .never:
        // When it is resumed, the connection arrives here again and finds the server stopping.
        return server.suspensions.suspend(connection, for: nil) ? .YES : .NO
    }
}

private func forget(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ reason: MHD_RequestTerminationCode
) {
    guard let state, let known = state.pointee else { return }
    let exchange = Unmanaged<Exchange>.fromOpaque(known).takeRetainedValue()
    state.pointee = nil
    guard let context, let reply = exchange.reply, reason == .REQUEST_TERMINATED_COMPLETED_OK,
        !exchange.isAbandoned
    else { return }
    Unmanaged<HTTPServer.Context>.fromOpaque(context).takeUnretainedValue()
        .service.answered(reply)
}

/// Numbers each connection when it begins.
private func numberConnection(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ number: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ event: MHD_ConnectionNotificationCode
) {
    guard let context, let number, event == .CONNECTION_NOTIFY_STARTED else { return }
    let server = Unmanaged<HTTPServer.Context>.fromOpaque(context).takeUnretainedValue()
    server.connections += 1
    number.pointee = UnsafeMutableRawPointer(bitPattern: server.connections)
}
