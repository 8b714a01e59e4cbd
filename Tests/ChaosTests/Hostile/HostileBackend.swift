import ClarityTestSupport
import Dispatch
@preconcurrency import Glibc
import Synchronization

/// A backend on a loopback port that answers as the sandbox does, but lets a test change each
/// answer. It serves one request per connection, on a thread of its own.
final class HostileBackend: Sendable {
    /// The parts of a request that a test needs.
    struct Asked: Sendable {
        var method: String
        /// The path with the query.
        var target: String
    }

    /// Returns the answer to send in place of the right one, or `nil` to send the right one.
    typealias Tamper = @Sendable (Asked, StandInBackend.Answer) -> StandInBackend.Answer?

    let port: UInt16
    private let listener: Int32
    private let script = Script()

    /// The state that the test and the thread share.
    private final class Script: Sendable {
        let tamper = Mutex<Tamper?>(nil)
        let asked = Mutex<[Asked]>([])
    }

    var url: String { "http://127.0.0.1:\(port)/api/v1" }
    var requests: [Asked] { script.asked.withLock { $0 } }

    init(_ dialect: String) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, address, &size) == 0
            }
        }
        guard isBound else { throw TemporaryFolder.Errno(code: errno) }
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
        let backend = try StandInBackend(dialect)
        // The backend is created here, and afterwards only the thread uses it.
        nonisolated(unsafe) let service = backend
        DispatchQueue(label: "hostile backend").async { [listener, script] in
            while true {
                let connection = accept(listener, nil, nil)
                if connection < 0, errno == EINTR { continue }
                guard connection >= 0 else { return }
                HostileBackend.serve(connection, service, script)
                close(connection)
            }
        }
    }

    deinit {
        // Ends `accept`, and with it the thread.
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// Passes all further answers through `body`, or leaves them unchanged if it is `nil`.
    func tamper(_ body: Tamper?) { script.tamper.withLock { $0 = body } }

    private static func serve(
        _ connection: Int32, _ service: StandInBackend, _ script: Script
    ) {
        guard let (head, body) = HostileBackend.read(connection) else { return }
        var lines = head.split(separator: "\r\n").map(String.init)
        let words = lines.removeFirst().split(separator: " ").map(String.init)
        guard words.count == 3 else { return }
        var headers: [String: String] = [:]
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            headers[parts[0].lowercased()] = parts[1].drop { $0 == " " }.description
        }
        let right = service.answer(words[0], words[1], headers: headers, body: body)
        let request = Asked(method: words[0], target: words[1])
        script.asked.withLock { $0.append(request) }
        let answer = script.tamper.withLock { $0 }?(request, right) ?? right
        var bytes = Array("HTTP/1.1 \(answer.status) Answer\r\nConnection: close\r\n".utf8)
        for header in answer.headers { bytes += "\(header.name): \(header.value)\r\n".utf8 }
        bytes += "Content-Length: \(answer.body.count)\r\n\r\n".utf8
        HostileBackend.write(bytes + answer.body, to: connection)
    }

    /// Reads a request's head and body, or returns `nil` if the client disconnects first.
    private static func read(_ connection: Int32) -> (head: String, body: [UInt8])? {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        let end = Array("\r\n\r\n".utf8)
        var needed = Int.max
        var head: (text: String, end: Int)?
        while bytes.count < needed {
            if head == nil, let found = bytes.firstRange(of: end) {
                let text = String(decoding: bytes[..<found.lowerBound], as: UTF8.self)
                let length = text.lowercased().split(separator: "\r\n")
                    .first { $0.hasPrefix("content-length:") }?
                    .split(separator: ":").last.flatMap { Int($0.filter(\.isNumber)) }
                head = (text, found.upperBound)
                needed = found.upperBound + (length ?? 0)
                continue
            }
            let count = recv(connection, &chunk, chunk.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            bytes += chunk[..<count]
        }
        return head.map { ($0.text, Array(bytes[$0.end...])) }
    }

    private static func write(_ bytes: [UInt8], to connection: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
