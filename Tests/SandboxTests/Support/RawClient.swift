import Glibc

/// A TCP connection to the loopback interface that returns the bytes as they arrive.
final class RawClient {
    /// How a connection ended.
    enum End: Equatable {
        case closed, reset, silent
    }

    private let socket: Int32

    init(port: UInt16) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        place.sin_port = port.bigEndian
        // A server that never answers must not hang the tests.
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(
            socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let code = withUnsafePointer(to: &place) { place in
            place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else { throw TemporaryDirectory.Failure(code: errno) }
    }

    deinit { close(socket) }

    func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    func send(
        _ method: String, _ path: String, _ body: [UInt8] = [], headers: [String] = []
    ) {
        let lines =
            ["\(method) \(path) HTTP/1.1", "Host: localhost", "Content-Length: \(body.count)"]
            + headers + ["", ""]
        send(Array(lines.joined(separator: "\r\n").utf8) + body)
    }

    /// Receives the next bytes, or none and how the connection ended.
    private func receive() -> (bytes: [UInt8], end: End?) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(socket, &buffer, buffer.count, 0)
        if count > 0 { return (Array(buffer.prefix(count)), nil) }
        if count == 0 { return ([], .closed) }
        return ([], errno == ECONNRESET ? .reset : .silent)
    }

    /// Receives everything until the connection ends.
    func receiveAll() -> (text: String, end: End) {
        var bytes: [UInt8] = []
        while true {
            let (more, end) = receive()
            bytes += more
            if let end { return (String(decoding: bytes, as: UTF8.self), end) }
        }
    }

    /// Receives one answer with the body that its Content-Length announces.
    func receiveAnswer() -> (status: Int, head: String, body: [UInt8]) {
        var bytes: [UInt8] = []
        while true {
            if let head = RawClient.head(bytes) {
                let length =
                    head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
                    .flatMap { Int($0.dropFirst("Content-Length: ".count)) } ?? 0
                let body = bytes.dropFirst(head.utf8.count)
                if body.count >= length {
                    let status = Int(head.split(separator: " ")[1]) ?? 0
                    return (status, head, Array(body.prefix(length)))
                }
            }
            let (more, end) = receive()
            bytes += more
            if end != nil { return (0, String(decoding: bytes, as: UTF8.self), []) }
        }
    }

    private static func head(_ bytes: [UInt8]) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        // Swift counts a carriage return and a line feed as one character.
        guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
        return String(text[..<end.upperBound])
    }
}
