@preconcurrency import Glibc
import Synchronization

/// An HTTP server on a loopback port that plays a list of answers, one for each request, and can
/// break off wherever a real server might.
///
/// It runs on a thread of its own, over raw sockets: no library is between a test and the bytes,
/// and a blocking call here delays nobody. Requests beyond the script are read and not answered.
public final class ScriptedServer: Sendable {
    /// An event at the server.
    public enum Event: Hashable, Sendable {
        /// A connection was accepted; connections count from 1.
        case connected(Int)
        case request(ScriptedRequest)
        /// Bytes arrived at a server that does not read HTTP.
        case bytes([UInt8])
        /// The client ended a connection.
        case closedByClient(Int)
    }

    /// The port on 127.0.0.1.
    public let port: Int
    /// The events in the order in which they happen, for one reader.
    public let events: AsyncStream<Event>

    private let log: EventLog
    /// The end of a pipe that `deinit` closes. The thread, which has the other end, then stops.
    private let lifeline: Int32

    /// Starts a server.
    ///
    /// - Parameter readsHTTP: whether an answer waits for a complete request. Otherwise it waits
    ///   for any bytes, and the event is `bytes` instead of `request`.
    /// - Throws: `ScriptedServerError` if a socket cannot be created.
    public init(_ script: [ScriptedAnswer], readsHTTP: Bool = true) throws {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        self.events = events
        log = EventLog(continuation)
        let listener = try ScriptedServer.listen()
        port = try ScriptedServer.port(of: listener)
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw ScriptedServerError(call: "pipe", code: errno) }
        lifeline = ends[1]
        let play = Unmanaged.passRetained(
            Play(
                listener: listener, lifeline: ends[0], script: script, readsHTTP: readsHTTP,
                log: log))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Play>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, play.toOpaque())
        guard code == 0 else {
            play.release()
            throw ScriptedServerError(call: "pthread_create", code: code)
        }
        pthread_detach(thread)
    }

    deinit { Glibc.close(lifeline) }

    /// The base URL, without a slash at its end.
    public var url: String { "http://127.0.0.1:\(port)" }

    /// The requests so far.
    public var requests: [ScriptedRequest] {
        log.all.compactMap { if case .request(let request) = $0 { request } else { nil } }
    }

    /// The number of connections that were accepted so far.
    public var connections: Int {
        log.all.count { if case .connected = $0 { true } else { false } }
    }

    private static func listen() throws -> Int32 {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard listener >= 0 else { throw ScriptedServerError(call: "socket", code: errno) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, size) }
        }
        guard isBound == 0, Glibc.listen(listener, 16) == 0 else {
            throw ScriptedServerError(call: "listen", code: errno)
        }
        return listener
    }

    private static func port(of listener: Int32) throws -> Int {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(listener, $0, &size)
            }
        }
        guard code == 0 else { throw ScriptedServerError(call: "getsockname", code: errno) }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}

/// A failed system call that a scripted server needs.
public struct ScriptedServerError: Error {
    public var call: String
    public var code: Int32
}

/// The events: all of them for any caller, and a stream for one reader.
private final class EventLog: Sendable {
    private let events = Mutex<[ScriptedServer.Event]>([])
    private let continuation: AsyncStream<ScriptedServer.Event>.Continuation

    init(_ continuation: AsyncStream<ScriptedServer.Event>.Continuation) {
        self.continuation = continuation
    }

    var all: [ScriptedServer.Event] { events.withLock { $0 } }

    func add(_ event: ScriptedServer.Event) {
        events.withLock { $0.append(event) }
        continuation.yield(event)
    }

    func finish() { continuation.finish() }
}

/// The server's thread: one `poll` over the listener, the lifeline and all connections, so that a
/// client that opens a second connection is served while the first is idle.
private final class Play {
    private struct Client {
        let number: Int
        var received: [UInt8] = []
    }

    private let listener: Int32
    private let lifeline: Int32
    private let readsHTTP: Bool
    private let log: EventLog
    private var script: ArraySlice<ScriptedAnswer>
    private var clients: [Int32: Client] = [:]
    private var accepted = 0

    init(
        listener: Int32, lifeline: Int32, script: [ScriptedAnswer], readsHTTP: Bool, log: EventLog
    ) {
        self.listener = listener
        self.lifeline = lifeline
        self.script = script[...]
        self.readsHTTP = readsHTTP
        self.log = log
    }

    func run() {
        while true {
            let descriptors = [lifeline, listener] + clients.keys
            var waits = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&waits, nfds_t(waits.count), -1) > 0 else { continue }
            if waits[0].revents != 0 { break }
            if waits[1].revents != 0 { accept() }
            for wait in waits.dropFirst(2) where wait.revents != 0 { read(from: wait.fd) }
        }
        for descriptor in [lifeline, listener] + clients.keys { close(descriptor) }
        log.finish()
    }

    private func accept() {
        let descriptor = Glibc.accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        // Otherwise a program that another test starts would keep the connection open.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        accepted += 1
        clients[descriptor] = Client(number: accepted)
        log.add(.connected(accepted))
    }

    private func read(from descriptor: Int32) {
        guard var client = clients[descriptor] else { return }
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else {
            log.add(.closedByClient(client.number))
            end(descriptor)
            return
        }
        if readsHTTP {
            client.received += buffer[..<count]
            takeRequest(of: &client, from: descriptor)
        } else {
            log.add(.bytes(Array(buffer[..<count])))
            if let answer = script.popFirst() { play(answer, to: descriptor) }
        }
    }

    private func takeRequest(of client: inout Client, from descriptor: Int32) {
        let request = ScriptedRequest(from: &client.received, connection: client.number)
        clients[descriptor] = client
        guard let request else { return }
        log.add(.request(request))
        guard let answer = script.popFirst() else { return }
        play(answer, to: descriptor)
    }

    private func play(_ answer: ScriptedAnswer, to descriptor: Int32) {
        var rest = answer.bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            // The client has closed the connection, and the next read reports it.
            guard count > 0 else { return }
            rest.removeFirst(count)
        }
        switch answer.ending {
        case .keep: break
        case .close: end(descriptor)
        case .reset:
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(
                descriptor, SOL_SOCKET, SO_LINGER, &linger,
                socklen_t(MemoryLayout<Glibc.linger>.size))
            end(descriptor)
        }
    }

    private func end(_ descriptor: Int32) {
        clients[descriptor] = nil
        close(descriptor)
    }
}
