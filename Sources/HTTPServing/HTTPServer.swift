import CMicroHTTPD
import Synchronization
@preconcurrency import Glibc

/// Serves requests with libmicrohttpd and one thread.
///
/// From `init` to `stop`, the service belongs to the
/// server's thread.
public final class HTTPServer {
    /// The texts, in PEM, of a certificate with those that sign it, and of its key.
    public struct Identity {
        var certificate: String
        var key: String

        public init(certificate: String, key: String) {
            (self.certificate, self.key) = (certificate, key)
        }
    }

    /// Begins an exchange for a request, on the server's thread.
    public typealias Handler = (RequestHead) -> Exchange

    /// The address that the server listens on, with the actual port.
    public let address: ListenAddress
    private let context: Context
    private var daemon: OpaquePointer?

    fileprivate final class Context {
        let service: Handler
        let suspensions = Suspensions()
        /// `nil` if the server does not guard itself.
        let connections: Connections?
        var connectionNumber: Int

        init(_ service: @escaping Handler, _ connections: Connections?, after number: Int) {
            (self.service, self.connections, connectionNumber) = (service, connections, number)
        }
    }

    /// Starts the server; `nil` if libmicrohttpd cannot start its thread or use the identity.
    ///
    /// - Parameters:
    ///   - connections: how many are served at the same time.
    ///   - patience: the seconds after which it closes a silent connection. One that waits for its
    ///     answer is not silent.
    ///   - isGuarded: whether a new connection ends another if there are too many
    ///     (`ConnectionPlaces`), and a request that can be read in two ways is refused
    ///     (`RequestRefusal`). A stand-in for another server does neither.
    ///   - number: the number after which connections are counted.
    public init?(
        _ listener: consuming Listener, connections: UInt32, patience: UInt32,
        identity: Identity? = nil, isGuarded: Bool = true, countingAfter number: Int = 0,
        service: @escaping Handler
    ) {
        address = listener.address
        context = Context(
            service, isGuarded ? Connections(most: connections, patience: patience) : nil,
            after: number)
        guard context.connections?.start() ?? true else { return nil }
        daemon = cmicrohttpd_start(
            listener.release(), answer, forget, note, lookAtAddress,
            Unmanaged.passUnretained(context).toOpaque(),
            connections + (isGuarded ? Connections.surplus : 0), patience,
            identity?.certificate, identity?.key)
        if daemon == nil {
            context.connections?.stop()
            return nil
        }
    }

    deinit { stop() }

    /// Closes every connection and ends the thread.
    public func stop() {
        guard let daemon else { return }
        context.suspensions.close()
        MHD_stop_daemon(daemon)
        context.connections?.stop()
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
    let server = server(context)
    // The first call is for the head of the request. An answer to it closes the connection.
    let isSplit = state.pointee == RequestRefusal.mark
    if isSplit { state.pointee = nil }
    guard let known = state.pointee else {
        let head = RequestHead(
            method: String(cString: method), path: String(cString: url), connection: connection)
        if isSplit || server.connections != nil && RequestRefusal.hasTwoMeanings(head) {
            return RequestRefusal.answer.queue(on: connection, server)
        }
        let exchange = server.service(head)
        server.connections?.began(connection, by: exchange.person)
        state.pointee = Unmanaged.passRetained(exchange).toOpaque()
        // An answer in place of the leave that the client waits for (RFC 9110, section 10.1.1).
        guard head.waitsForLeave, let answer = exchange.refusal(ofLength: head.length ?? 0) else {
            return .YES
        }
        return answer.queue(on: connection, server)
    }
    let exchange = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
    guard size.pointee > 0 else { return finish(exchange, connection, server) }
    let bytes = UnsafeRawBufferPointer(start: data, count: size.pointee)
    size.pointee = 0
    return exchange.take(bytes) ? .YES : .NO
}

/// Answers a whole request, at once or when its work has ended.
private func finish(
    _ exchange: Exchange, _ connection: OpaquePointer, _ server: HTTPServer.Context
) -> MHD_Result {
    let outcome: Exchange.Outcome
    switch exchange.later?.found {
    case nil, .asks: outcome = exchange.outcome()
    case .has(let answer): outcome = .answer(answer)
    case .waits: return .NO
    }
    exchange.later = nil
    switch outcome {
    case .answer(let answer):
        exchange.isAbandoned = isClosed(connection)
        return answer.queue(on: connection, server)
    case .work(let work):
        guard let suspended = server.suspensions.suspend(connection) else { return .NO }
        server.connections?.waits(connection)
        let later = LaterAnswer(suspended)
        exchange.later = later
        work(later)
        return .YES
    case .reset:
        reset(connection)
        return .NO
    }
}

/// Returns whether the client has closed its end, like one that was killed while it waited for the
/// answer.
private func isClosed(_ connection: OpaquePointer) -> Bool {
    var byte: UInt8 = 0
    let count = recv(
        cmicrohttpd_socket(connection), &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
    return count == 0 || count < 0 && errno != EAGAIN && errno != EINTR
}

/// Resets a TCP connection at once.
///
/// On Linux, connecting a socket to no address dissolves its connection with an RST (connect(2)).
/// Closing it with SO_LINGER would come too late, after the FIN that libmicrohttpd sends first.
private func reset(_ connection: OpaquePointer) {
    var nowhere = sockaddr()
    nowhere.sa_family = sa_family_t(AF_UNSPEC)
    // If the client has gone first, there is nothing left to reset.
    _ = connect(
        cmicrohttpd_socket(connection), &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
}

/// Marks a request by its address as it was sent.
private func lookAtAddress(
    _ context: UnsafeMutableRawPointer?, _ address: UnsafePointer<CChar>?,
    _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let context, let address, server(context).connections != nil,
        RequestRefusal.isCut(String(cString: address))
    else { return nil }
    return RequestRefusal.mark
}

/// Notes the begin of a connection, which it numbers, and its end.
private func note(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ change: MHD_ConnectionNotificationCode
) {
    guard let context, let connection else { return }
    let server = server(context)
    guard change == .CONNECTION_NOTIFY_STARTED else {
        server.connections?.closed(connection)
        return
    }
    server.connectionNumber += 1
    state?.pointee = UnsafeMutableRawPointer(bitPattern: server.connectionNumber)
    server.connections?.opened(connection)
}

private func forget(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ reason: MHD_RequestTerminationCode
) {
    guard let context, let connection, let known = state?.pointee, known != RequestRefusal.mark
    else { return }
    server(context).connections?.finished(connection)
    state?.pointee = nil
    let exchange = Unmanaged<Exchange>.fromOpaque(known).takeRetainedValue()
    if reason == .REQUEST_TERMINATED_COMPLETED_OK, !exchange.isAbandoned { exchange.delivered() }
}

private func server(_ context: UnsafeMutableRawPointer) -> HTTPServer.Context {
    Unmanaged<HTTPServer.Context>.fromOpaque(context).takeUnretainedValue()
}

extension Answer {
    fileprivate func queue(
        on connection: OpaquePointer, _ server: HTTPServer.Context
    ) -> MHD_Result {
        guard let made = response(on: connection, server.suspensions) else { return .NO }
        // A stream waits for the server as long as it lasts.
        if case .stream = content {
            server.connections?.waits(connection)
        } else {
            server.connections?.isAnswered(connection)
        }
        defer { MHD_destroy_response(made) }
        for header in headers.list {
            guard MHD_add_response_header(made, header.name, header.value) == .YES else {
                return .NO
            }
        }
        return MHD_queue_response(connection, status, made)
    }
}

/// The requests that are refused before any service sees them: those that a proxy in front may read
/// otherwise than this server (RFC 9112, sections 3.2 and 6.3), or of which it would read a part.
enum RequestRefusal {
    /// The most parameters of a query.
    static let mostParameters = 100

    /// The state of a request whose address is refused. It is no object.
    static var mark: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: 1) }

    /// Closes the connection, because nobody knows where the next request on it begins.
    static let answer = Answer(
        status: 400, text: "this request has no single meaning\n", headers: ["Connection": "close"])

    /// Whether an address, as it was sent, has an encoded U+0000, at which libmicrohttpd's texts end,
    /// or too many parameters.
    static func isCut(_ address: String) -> Bool {
        let bytes = address.utf8
        if address.contains("%00") { return true }
        guard let query = bytes.firstIndex(of: UInt8(ascii: "?")) else { return false }
        return bytes[query...].count { $0 == UInt8(ascii: "&") } >= mostParameters
    }

    /// Whether the headers give two lengths of the body, or two hosts.
    static func hasTwoMeanings(_ head: RequestHead) -> Bool {
        var seen = Seen()
        for (name, value) in head.headers { seen.add(name.lowercased(), value) }
        return seen.hosts > 1 || seen.lengths > 1 || seen.isFaulty
    }

    /// What headers say about the place and the length of a request.
    private struct Seen {
        var hosts = 0
        var lengths = 0
        var isFaulty = false

        mutating func add(_ name: String, _ value: String) {
            switch name {
            case "host": hosts += 1
            case "content-length":
                lengths += 1
                isFaulty = isFaulty || !value.utf8.allSatisfy { (0x30...0x39).contains($0) }
            case "transfer-encoding": lengths += 1
            default: break
            }
        }
    }
}
