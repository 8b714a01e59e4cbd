import CMicroHTTPD
import Platform
import Synchronization

/// An answer to a request.
struct Answer: Sendable {
    /// A body that is no text of its own.
    enum Content: Sendable {
        case bytes([UInt8])
        /// Bytes that stay where they are as long as the program runs.
        case fixed(FixedBytes)
        /// An endless body, whose parts are sent as they come.
        case stream(any AnswerStream)
    }

    /// The place of bytes that never move or change, such as those of an embedded file.
    ///
    /// `@unchecked`: nobody writes there.
    struct FixedBytes: @unchecked Sendable {
        var start: UnsafeRawPointer
        var count: Int
    }

    var status: UInt32
    var type = "text/plain; charset=utf-8"
    /// The body, unless there is a `content`.
    var text = ""
    var content: Content?
    /// Further headers by name. They replace the usual ones of the same name.
    var headers: [String: String] = [:]
}

/// A body whose parts are not known yet.
protocol AnswerStream: AnyObject, Sendable {
    /// Returns the next bytes, at most `room`; empty at the end.
    ///
    /// If there are none yet, calls `suspend` and returns `nil`. The stream then resumes the
    /// connection when there are some.
    func next(room: Int, suspend: () -> ResumableConnection?) -> [UInt8]?

    /// Is called once, when nobody reads the stream any more.
    func abandon()
}

/// The line and the headers of a request; valid while its service accepts it.
struct RequestHead {
    var method: String
    var path: String
    fileprivate let connection: OpaquePointer

    /// The address from which the request comes; of a proxy, if there is one.
    var peer: ListenAddress {
        ListenAddress(
            host: cmicrohttpd_peer_host(connection),
            port: UInt16(clamping: cmicrohttpd_peer_port(connection)))
    }

    /// The user who made the connection, if that is one of this machine.
    var peerUser: Int? {
        let user = cmicrohttpd_peer_user(connection)
        return user < 0 ? nil : user
    }

    /// Returns the first header of this name, in whatever case it is written.
    subscript(name: String) -> String? {
        MHD_lookup_connection_value(connection, .HEADER_KIND, name).map { String(cString: $0) }
    }

    /// The decoded parameters of the query, in their order.
    var query: [(name: String, value: String)] {
        var query: [(name: String, value: String)] = []
        withUnsafeMutablePointer(to: &query) { query in
            _ = MHD_get_connection_values(
                connection, .GET_ARGUMENT_KIND,
                { context, _, name, value in
                    if let context, let name {
                        context.assumingMemoryBound(to: [(name: String, value: String)].self)
                            .pointee.append(
                                (String(cString: name), value.map { String(cString: $0) } ?? ""))
                    }
                    return .YES
                }, query)
        }
        return query
    }
}

/// A request whose body may still be arriving. This one discards the body, because a client that is
/// still writing would not see an answer.
///
/// It is released when the request is over, answered or not.
class Exchange {
    /// What follows a whole request.
    enum Outcome {
        case answer(Answer)
        /// The work is started after the connection is suspended, and gives its answer from any
        /// thread.
        case work((LaterAnswer) -> Void)
    }

    /// Who makes the request, if that is known. Places are shared out between persons.
    var person: String?
    private let respond: () -> Outcome
    private var room: Int
    /// Where the answer of the work arrives, once it has been started.
    fileprivate var later: LaterAnswer?

    /// Creates an exchange with the answer that `respond` returns after the whole request.
    ///
    /// - Parameter most: the most bytes that are discarded; more of them close the connection.
    init(discarding most: Int = 64 << 10, _ respond: @escaping () -> Answer) {
        room = most
        self.respond = { .answer(respond()) }
    }

    /// Creates an exchange that `work` answers.
    init(working work: @escaping (LaterAnswer) -> Void) {
        room = 64 << 10
        respond = { .work(work) }
    }

    /// Takes the next bytes of the body; returns `false` to close the connection.
    func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        room -= bytes.count
        return room >= 0
    }

    /// Returns what follows, after the whole body was taken.
    func outcome() -> Outcome { respond() }
}

/// Receives the answer of work that runs elsewhere.
final class LaterAnswer: Sendable {
    private let answer = Mutex<Answer?>(nil)
    private let connection: ResumableConnection

    fileprivate init(_ connection: ResumableConnection) { self.connection = connection }

    /// Sends the answer; call it once.
    func give(_ given: Answer) {
        answer.withLock { $0 = given }
        connection.resume()
    }

    /// Returns the answer; `nil` if the server stops before there is one.
    fileprivate func take() -> Answer? { answer.withLock { $0.take() } }
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
        let suspensions = Suspensions()
        let connections: Connections

        init(_ service: @escaping Service, _ connections: Connections) {
            (self.service, self.connections) = (service, connections)
        }
    }

    /// Starts the server; `nil` if libmicrohttpd cannot start its thread or use the identity.
    ///
    /// - Parameters:
    ///   - connections: how many are served at the same time; a new one ends another
    ///     (`ConnectionPlaces`).
    ///   - patience: the seconds after which it closes a silent connection. One that waits for its
    ///     answer is not silent.
    init?(
        _ listener: consuming Listener, connections: UInt32, patience: UInt32,
        identity: Identity? = nil, service: @escaping Service
    ) {
        address = listener.address
        context = Context(service, Connections(most: connections, patience: patience))
        guard context.connections.start() else { return nil }
        daemon = cmicrohttpd_start(
            listener.release(), answer, forget, note, lookAtAddress,
            Unmanaged.passUnretained(context).toOpaque(), connections + Connections.surplus,
            patience, identity?.certificate, identity?.key)
        if daemon == nil {
            context.connections.stop()
            return nil
        }
    }

    deinit { stop() }

    /// Closes every connection and ends the thread.
    func stop() {
        guard let daemon else { return }
        context.suspensions.close()
        MHD_stop_daemon(daemon)
        context.connections.stop()
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
    let server = Unmanaged<WebServer.Context>.fromOpaque(context).takeUnretainedValue()
    // The first call is for the head of the request. An answer to it closes the connection.
    let isSplit = state.pointee == RequestRefusal.mark
    if isSplit { state.pointee = nil }
    guard let known = state.pointee else {
        if isSplit || RequestRefusal.hasTwoMeanings(connection) {
            return RequestRefusal.answer.queue(on: connection, server)
        }
        let exchange = server.service(
            RequestHead(
                method: String(cString: method), path: String(cString: url),
                connection: connection))
        server.connections.began(connection, by: exchange.person)
        state.pointee = Unmanaged.passRetained(exchange).toOpaque()
        return .YES
    }
    let exchange = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
    guard size.pointee > 0 else { return finish(exchange, connection, server) }
    let bytes = UnsafeRawBufferPointer(start: data, count: size.pointee)
    size.pointee = 0
    return exchange.take(bytes) ? .YES : .NO
}

/// Answers a whole request, at once or when its work has ended.
private func finish(
    _ exchange: Exchange, _ connection: OpaquePointer, _ server: WebServer.Context
) -> MHD_Result {
    if let later = exchange.later {
        return later.take()?.queue(on: connection, server) ?? .NO
    }
    switch exchange.outcome() {
    case .answer(let answer): return answer.queue(on: connection, server)
    case .work(let work):
        guard let suspended = server.suspensions.suspend(connection) else { return .NO }
        server.connections.waits(connection)
        let later = LaterAnswer(suspended)
        exchange.later = later
        work(later)
        return .YES
    }
}

/// Marks a request by its address as it was sent.
private func lookAtAddress(
    _ context: UnsafeMutableRawPointer?, _ address: UnsafePointer<CChar>?,
    _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let address, RequestRefusal.isCut(String(cString: address)) else { return nil }
    return RequestRefusal.mark
}

/// Notes the begin and the end of a connection.
private func note(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ change: MHD_ConnectionNotificationCode
) {
    guard let context, let connection else { return }
    let server = Unmanaged<WebServer.Context>.fromOpaque(context).takeUnretainedValue()
    change == .CONNECTION_NOTIFY_STARTED
        ? server.connections.opened(connection) : server.connections.closed(connection)
}

private func forget(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ reason: MHD_RequestTerminationCode
) {
    guard let context, let connection, let known = state?.pointee, known != RequestRefusal.mark
    else { return }
    let server = Unmanaged<WebServer.Context>.fromOpaque(context).takeUnretainedValue()
    server.connections.finished(connection)
    Unmanaged<Exchange>.fromOpaque(known).release()
    state?.pointee = nil
}

extension Answer {
    fileprivate func queue(
        on connection: OpaquePointer, _ server: WebServer.Context
    ) -> MHD_Result {
        guard let made = response(on: connection, server.suspensions) else { return .NO }
        // A stream waits for the server as long as it lasts.
        if case .stream? = content {
            server.connections.waits(connection)
        } else {
            server.connections.isAnswered(connection)
        }
        defer { MHD_destroy_response(made) }
        let usual = [
            "Content-Type": type, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
        ]
        for (name, value) in usual.merging(headers, uniquingKeysWith: { $1 }) {
            guard MHD_add_response_header(made, name, value) == .YES else { return .NO }
        }
        return MHD_queue_response(connection, status, made)
    }

    private func response(
        on connection: OpaquePointer, _ suspensions: Suspensions
    ) -> OpaquePointer? {
        // The pointers are mutable only because other modes need it.
        func copied(_ bytes: UnsafeRawBufferPointer) -> OpaquePointer? {
            MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                .RESPMEM_MUST_COPY)
        }
        switch content {
        case nil:
            var text = text
            return text.withUTF8 { copied(UnsafeRawBufferPointer($0)) }
        case .bytes(let bytes): return bytes.withUnsafeBytes(copied)
        case .fixed(let bytes):
            return MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.start), .RESPMEM_PERSISTENT)
        case .stream(let stream): return StreamedBody.response(stream, connection, suspensions)
        }
    }
}
