import CMicroHTTPD
import Synchronization

/// The line and the headers of a request; valid while its service accepts it.
public struct RequestHead {
    public var method: String
    /// The path without the query, with percent escapes decoded.
    public var path: String
    let connection: OpaquePointer

    /// The address from which the request comes; of a proxy, if there is one.
    public var peer: ListenAddress {
        ListenAddress(
            host: cmicrohttpd_peer_host(connection),
            port: UInt16(clamping: cmicrohttpd_peer_port(connection)))
    }

    /// The user who made the connection, if that is one of this machine.
    public var peerUser: Int? {
        let user = cmicrohttpd_peer_user(connection)
        return user < 0 ? nil : user
    }

    /// The number of the connection; the server counts them.
    public var connectionNumber: Int { cmicrohttpd_number(connection) }

    /// Returns the first header of this name, in whatever case it is written.
    public subscript(name: String) -> String? {
        MHD_lookup_connection_value(connection, .HEADER_KIND, name).map { String(cString: $0) }
    }

    /// The token of `Authorization: Bearer TOKEN` or `x-api-key: TOKEN`.
    public var bearerToken: String? {
        if let key = self["x-api-key"] { return key }
        let words = self["Authorization"]?.split(separator: " ") ?? []
        return words.count == 2 && words[0].lowercased() == "bearer" ? String(words[1]) : nil
    }

    /// The length of the body, if the client gives it.
    public var length: Int64? { self["Content-Length"].flatMap { Int64($0) } }

    /// Whether the client waits for leave to send the body.
    var waitsForLeave: Bool { self["Expect"]?.lowercased() == "100-continue" }

    /// The headers in their order.
    var headers: [(name: String, value: String)] { pairs(.HEADER_KIND) }

    /// The decoded parameters of the query, in their order.
    public var query: [(name: String, value: String)] { pairs(.GET_ARGUMENT_KIND) }

    private func pairs(_ kind: MHD_ValueKind) -> [(name: String, value: String)] {
        var pairs: [(name: String, value: String)] = []
        withUnsafeMutablePointer(to: &pairs) { pairs in
            _ = MHD_get_connection_values(
                connection, kind,
                { context, _, name, value in
                    if let context, let name {
                        context.assumingMemoryBound(to: [(name: String, value: String)].self)
                            .pointee.append(
                                (String(cString: name), value.map { String(cString: $0) } ?? ""))
                    }
                    return .YES
                }, pairs)
        }
        return pairs
    }
}

/// A request whose body may still be arriving. This one discards the body, because a client that is
/// still writing would not see an answer.
///
/// It belongs to the server's thread, and is released when the request is over, answered or not.
open class Exchange {
    /// What follows a whole request.
    public enum Outcome {
        case answer(Answer)
        /// The work is started after the connection is suspended, and gives its answer from any
        /// thread. If it never does, the client waits until the server stops.
        case work((LaterAnswer) -> Void)
        /// A fault: the connection is reset without an answer.
        case reset
    }

    /// Who makes the request, if that is known. Places are shared out between persons.
    public var person: String?
    private let respond: () -> Outcome
    /// Whether `respond` knows the answer before the body has arrived.
    private let isAnswered: Bool
    private var room: Int
    /// Where the answer of the work arrives, once it has been started.
    var later: LaterAnswer?
    /// Whether the client was gone before the answer could be sent.
    var isAbandoned = false

    /// Creates an exchange with the answer that `respond` returns after the whole request.
    ///
    /// - Parameter most: the most bytes that are discarded; more of them close the connection.
    public init(discarding most: Int = 64 << 10, _ respond: @escaping () -> Answer) {
        room = most
        isAnswered = true
        self.respond = { .answer(respond()) }
    }

    /// Creates an exchange that `work` answers.
    public init(working work: @escaping (LaterAnswer) -> Void) {
        room = 64 << 10
        isAnswered = false
        respond = { .work(work) }
    }

    /// Returns the answer to a client that waits for leave to send a body of so many bytes, which
    /// then stays where it is; `nil` gives leave. It is called at most once, instead of `outcome`.
    open func refusal(ofLength bytes: Int64) -> Answer? {
        guard isAnswered, case .answer(let answer) = respond() else { return nil }
        return answer
    }

    /// Takes the next bytes of the body; returns `false` to close the connection.
    open func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        room -= bytes.count
        return room >= 0
    }

    /// Returns what follows, after the whole body was taken.
    open func outcome() -> Outcome { respond() }

    /// Is called when the whole answer was sent to a client that was there.
    open func delivered() {}
}

/// Receives the answer of work that runs elsewhere.
public final class LaterAnswer: Sendable {
    enum State: Sendable {
        case waits
        case has(Answer)
        /// The exchange is asked for its outcome again.
        case asks
    }

    private let state = Mutex(State.waits)
    private let connection: ResumableConnection

    init(_ connection: ResumableConnection) { self.connection = connection }

    /// Sends the answer. One of these two functions is called once.
    public func give(_ answer: Answer) {
        state.withLock { $0 = .has(answer) }
        connection.resume()
    }

    /// Asks the exchange for its outcome again, on the server's thread.
    public func askAgain() {
        state.withLock { $0 = .asks }
        connection.resume()
    }

    /// What has come; nothing if the server stops before.
    var found: State { state.withLock { $0 } }
}

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
public struct ResumableConnection: Sendable {
    fileprivate let suspensions: Suspensions
    fileprivate let address: UInt

    /// Resumes the connection; does nothing if the server has stopped meanwhile.
    public func resume() { suspensions.resume(address) }
}

/// An answer to a request.
public struct Answer: Sendable {
    /// The headers in the order in which they are sent.
    public struct Headers: Hashable, Sendable, ExpressibleByDictionaryLiteral {
        /// A header.
        public struct Header: Hashable, Sendable {
            public var name: String
            public var value: String
        }

        public private(set) var list: [Header]

        public init(_ list: some Sequence<(name: String, value: String)>) {
            self.list = list.map { Header(name: $0.name, value: $0.value) }
        }

        public init(dictionaryLiteral elements: (String, String)...) {
            self.init(elements.map { (name: $0.0, value: $0.1) })
        }

        /// The first header of this name, as it is written; `nil` removes all of them.
        public subscript(name: String) -> String? {
            get { list.first { $0.name == name }?.value }
            set {
                let place = list.firstIndex { $0.name == name } ?? list.endIndex
                list.removeAll { $0.name == name }
                if let newValue { list.insert(Header(name: name, value: newValue), at: place) }
            }
        }

        /// Returns these headers, and those of `others` that are not among them.
        public func adding(_ others: Headers) -> Headers {
            var all = self
            for header in others.list where self[header.name] == nil { all.list.append(header) }
            return all
        }
    }

    /// The body.
    public enum Content: Sendable {
        case bytes([UInt8])
        /// Bytes that stay where they are as long as the program runs.
        case fixed(FixedBytes)
        /// An endless body, whose parts are sent as they come.
        case stream(any AnswerStream)
        /// A fault: the length of all these bytes is announced, and the connection is closed after
        /// the first `count`.
        case cut([UInt8], after: Int)
    }

    /// The place of bytes that never move or change, such as those of an embedded file.
    ///
    /// `@unchecked`: nobody writes there.
    public struct FixedBytes: @unchecked Sendable {
        public let start: UnsafeRawPointer
        public let count: Int

        public init(start: UnsafeRawPointer, count: Int) {
            (self.start, self.count) = (start, count)
        }
    }

    public var status: UInt32
    public var headers: Headers
    public var content: Content

    /// Creates an answer with these headers and no others of its own.
    public init(_ status: UInt32, _ headers: Headers, _ content: Content) {
        (self.status, self.headers, self.content) = (status, headers, content)
    }

    /// Creates an answer that no cache keeps and whose type no browser guesses.
    ///
    /// - Parameters:
    ///   - content: the body, in place of `text`.
    ///   - headers: further headers; they replace the usual ones of the same name.
    public init(
        status: UInt32, type: String = "text/plain; charset=utf-8", text: String = "",
        content: Content? = nil, headers: Headers = [:]
    ) {
        let usual: Headers = [
            "Content-Type": type, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
        ]
        self.init(status, headers.adding(usual), content ?? .bytes(Array(text.utf8)))
    }

    /// Returns what libmicrohttpd sends; `nil` if it has no memory for it.
    func response(on connection: OpaquePointer, _ suspensions: Suspensions) -> OpaquePointer? {
        switch content {
        case .bytes(let bytes):
            // The bytes are copied. The pointer is mutable only because other modes need it.
            bytes.withUnsafeBytes { bytes in
                MHD_create_response_from_buffer(
                    bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                    .RESPMEM_MUST_COPY)
            }
        case .fixed(let bytes):
            MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.start), .RESPMEM_PERSISTENT)
        case .stream(let stream):
            ReadBody.response(
                cmicrohttpd_size_unknown, 1024,
                { _, room in
                    var isStopping = false
                    let part = stream.next(room: room) {
                        let suspended = suspensions.suspend(connection)
                        isStopping = suspended == nil
                        return suspended
                    }
                    guard let part else { return isStopping ? .end : .nothingYet }
                    return part.isEmpty ? .end : .part(part[...])
                }, atEnd: stream.abandon)
        case .cut(let bytes, let count):
            ReadBody.response(
                UInt64(bytes.count), 16_384,
                { offset, room in
                    let part = bytes.prefix(count).dropFirst(offset).prefix(room)
                    return part.isEmpty ? .fault : .part(part)
                }, atEnd: {})
        }
    }
}

/// A body whose parts are not known yet.
public protocol AnswerStream: AnyObject, Sendable {
    /// Returns the next bytes, at most `room`; empty at the end.
    ///
    /// If there are none yet, calls `suspend` and returns `nil`. The stream then resumes the
    /// connection when there are some.
    func next(room: Int, suspend: () -> ResumableConnection?) -> [UInt8]?

    /// Is called once, when nobody reads the stream any more.
    func abandon()
}

/// A body that libmicrohttpd reads part by part.
private final class ReadBody {
    enum Part {
        case part(ArraySlice<UInt8>)
        case nothingYet
        case end
        /// The connection is closed before the end.
        case fault
    }

    private let read: (_ offset: Int, _ room: Int) -> Part
    private let atEnd: () -> Void

    private init(_ read: @escaping (Int, Int) -> Part, _ atEnd: @escaping () -> Void) {
        (self.read, self.atEnd) = (read, atEnd)
    }

    deinit { atEnd() }

    static func response(
        _ size: UInt64, _ block: Int, _ read: @escaping (Int, Int) -> Part,
        atEnd: @escaping () -> Void
    ) -> OpaquePointer? {
        let body = Unmanaged.passRetained(ReadBody(read, atEnd))
        let made = MHD_create_response_from_callback(
            size, block,
            { context, offset, buffer, room in
                guard let context, let buffer else { return cmicrohttpd_end_with_error }
                let body = Unmanaged<ReadBody>.fromOpaque(context).takeUnretainedValue()
                switch body.read(Int(offset), room) {
                case .part(let part):
                    part.withUnsafeBytes { bytes in
                        UnsafeMutableRawBufferPointer(start: buffer, count: room)
                            .copyMemory(from: bytes)
                    }
                    return part.count
                case .nothingYet: return 0
                case .end: return cmicrohttpd_end_of_stream
                case .fault: return cmicrohttpd_end_with_error
                }
            }, body.toOpaque(),
            { context in
                if let context { Unmanaged<ReadBody>.fromOpaque(context).release() }
            })
        // Without a response, nothing else releases the body.
        if made == nil { body.release() }
        return made
    }
}
