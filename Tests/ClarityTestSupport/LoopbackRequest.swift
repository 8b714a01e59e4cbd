import Glibc

/// One plain HTTP request to a server on this machine, without the behaviour of an HTTP client.
public enum LoopbackRequest {
    /// Sends a request and returns the body of the answer, whatever its status. Connects to the
    /// loopback of `network` if one is given.
    ///
    /// - Throws: `TemporaryFolder.Errno` if the connection fails.
    public static func send(
        _ method: String, _ path: String, body: String = "", port: UInt16,
        in network: NetworkNamespace? = nil
    ) async throws -> String {
        let answer = try await answer(method, path, body: body, port: port, in: network)
        return answer.firstRange(of: "\r\n\r\n").map { String(answer[$0.upperBound...]) } ?? ""
    }

    /// Sends a request as `send` does, and returns the whole answer.
    public static func answer(
        _ method: String, _ path: String, host: String = "127.0.0.1",
        headers: [String: String] = [:], body: String = "",
        port: UInt16, in network: NetworkNamespace? = nil
    ) async throws -> String {
        let request = """
            \(method) \(path) HTTP/1.0\r
            Host: \(host)\r
            \(headers.map { "\($0): \($1)\r\n" }.joined())Content-Length: \(body.utf8.count)\r
            \r
            \(body)
            """
        let ask: @Sendable () throws -> String = { try exchange(request, port: port) }
        if let network { return try await network.enter(ask) }
        return try await blocking(ask)
    }

    private static func exchange(_ request: String, port: UInt16) throws -> String {
        let descriptor = try open(request, port: port)
        defer { close(descriptor) }
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count >= 0 else { throw TemporaryFolder.Errno(code: errno) }
            if count == 0 { return String(decoding: answer, as: UTF8.self) }
            answer += chunk[..<count]
        }
    }

    /// Connects to a port, sends a text, and returns the socket, which the caller closes.
    public static func open(_ text: String, port: UInt16) throws -> Int32 {
        let descriptor = socket(
            AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw TemporaryFolder.Errno(code: errno) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        let bytes = Array(text.utf8)
        guard
            code == 0,
            Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
        else {
            let code = errno
            close(descriptor)
            throw TemporaryFolder.Errno(code: code)
        }
        return descriptor
    }
}
