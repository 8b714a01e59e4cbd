import Dispatch
import HTTPServing

extension HTTPServer {
    /// Serves the service on a socket; `nil` if libmicrohttpd cannot start its thread.
    ///
    /// Until `stop`, the service and its store belong to the server's thread. Nobody else may use
    /// them.
    convenience init?(_ service: Service, _ listener: consuming Listener) {
        let queue = DispatchQueue(label: "clarity-jobs-sandbox.latency")
        // libmicrohttpd 0.9 does not notice that a client went in the middle of a request, so a
        // connection may be silent for 30 s. One that waits on purpose is never silent.
        self.init(
            listener, connections: 512, patience: 30, isGuarded: false,
            countingAfter: service.recordedConnections
        ) { SandboxExchange($0, service, queue) }
    }
}

/// A request to the service, and the faults of its answer.
private final class SandboxExchange: Exchange {
    private var request: Request
    private let service: Service
    private let queue: DispatchQueue
    /// The reply, once decided; it may be delivered later.
    private var reply: Reply?

    init(_ head: RequestHead, _ service: Service, _ queue: DispatchQueue) {
        (self.service, self.queue) = (service, queue)
        request = Request(method: head.method, path: head.path)
        request.connection = head.connectionNumber
        request.peerPort = Int(head.peer.port)
        request.authorization = head["Authorization"]
        request.contentType = head["Content-Type"]
        request.host = head["Host"]
        request.announcedLength = head["Content-Length"].flatMap { Int($0) }
        request.pairs = head.query
        for (name, value) in head.query { request.query[name] = value }
        let names = ["Content-Encoding", "If-Match", "If-None-Exist", "Prefer"]
        for name in names { request.headers[name.lowercased()] = head[name] }
        super.init { Answer(500, [:], .bytes([])) }
    }

    override func refusal(ofLength bytes: Int64) -> Answer? { nil }

    /// Appends a piece of the body.
    ///
    /// A body that is too long is discarded but read to its end, because a client that is still
    /// writing would not see the answer.
    override func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !request.isTooLarge else { return true }
        if request.body.count + bytes.count > service.bodyBytes(of: request) {
            request.isTooLarge = true
            request.body = []
        } else {
            request.body += bytes
        }
        return true
    }

    override func outcome() -> Outcome {
        guard let reply else {
            let reply = service.reply(to: request)
            self.reply = reply
            guard let delay = reply.delay else { return outcome() }
            return .work { [queue] later in
                queue.asyncAfter(
                    deadline: .now() + .milliseconds(Int(delay.wholeMilliseconds))
                ) { later.askAgain() }
            }
        }
        switch reply.delivery {
        case .whole(let response): return .answer(response.answer(.bytes(response.body)))
        case .half(let response):
            return .answer(
                response.answer(.cut(response.body, after: response.body.count / 2)))
        case .reset: return .reset
        case .never: return .work { _ in }
        }
    }

    override func delivered() { if let reply { service.answered(reply) } }
}

extension Response {
    fileprivate func answer(_ content: Answer.Content) -> Answer {
        let headers = headers.map { (name: $0.name, value: $0.value) }
        return Answer(UInt32(status), Answer.Headers(headers), content)
    }
}
