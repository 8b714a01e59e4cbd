import CMicroHTTPD
public import Platform
@preconcurrency import Glibc

/// The address to listen on: an IPv4 address and a port.
public struct ListenAddress: Hashable, Sendable {
    /// The address in host byte order.
    public var host: UInt32
    /// The port; 0 takes a free one.
    public var port: UInt16

    public init(host: UInt32, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Parses `ADDRESS:PORT` or `localhost:PORT`; `nil` for any other text.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...])
        else { return nil }
        let name = text[..<colon] == "localhost" ? "127.0.0.1" : text[..<colon]
        var address = in_addr()
        guard inet_pton(AF_INET, String(name), &address) == 1 else { return nil }
        self.init(host: UInt32(bigEndian: address.s_addr), port: port)
    }

    /// Whether only this machine can connect: the address is within 127.0.0.0/8.
    public var isLoopback: Bool { host >> 24 == 127 }

    /// The address without the port.
    public var hostText: String {
        [24, 16, 8, 0].map { String(host >> $0 & 0xFF) }.joined(separator: ".")
    }
}

/// A listening socket.
public struct Listener: ~Copyable {
    /// The socket; closed by this type unless `release` has handed it over.
    private var descriptor: Int32
    public let address: ListenAddress

    /// Starts to listen on `wanted`.
    public init(_ wanted: ListenAddress) throws(SystemError) {
        let socket = socket(
            AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw SystemError() }
        var on: Int32 = 1
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = wanted.host.bigEndian
        name.sin_port = wanted.port.bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &name) { name in
            name.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                setsockopt(
                    socket, SOL_SOCKET, SO_REUSEADDR, &on,
                    socklen_t(MemoryLayout<Int32>.size)) == 0
                    && bind(socket, name, size) == 0 && listen(socket, SOMAXCONN) == 0
                    && getsockname(socket, name, &size) == 0
            }
        }
        guard isListening else {
            let code = errno
            close(socket)
            throw SystemError(code: code)
        }
        descriptor = socket
        address = ListenAddress(host: wanted.host, port: UInt16(bigEndian: name.sin_port))
    }

    /// Takes over a socket that listens already.
    public init(_ passed: PassedSocket) {
        descriptor = passed.descriptor
        address = passed.address
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Hands the socket over to the caller.
    public mutating func release() -> Int32 {
        defer { descriptor = -1 }
        return descriptor
    }
}

/// A listening socket that the service manager passed to this process, as sd_listen_fds(3) describes
/// it.
public struct PassedSocket: Sendable {
    /// Why a passed socket cannot be used.
    public enum Fault: Error, Hashable {
        /// There is not exactly one.
        case count(Int)
        /// The descriptor is no listening TCP socket of IPv4.
        case otherKind
    }

    /// The number of the first one that is passed.
    private static let first: Int32 = 3

    fileprivate let descriptor: Int32
    public let address: ListenAddress

    /// Takes the socket, and what was said about it out of the environment, so that no child takes
    /// it for its own. `nil` if none was passed to this process.
    ///
    /// Call it before the process has a second thread.
    public static func take() throws(Fault) -> PassedSocket? {
        let said = Environment.take(["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"])
        guard said["LISTEN_PID"] == "\(getpid())",
            let count = said["LISTEN_FDS"].flatMap({ Int($0) }), count != 0
        else { return nil }
        guard count == 1 else { throw .count(count) }
        return try PassedSocket(descriptor: first)
    }

    private init(descriptor: Int32) throws(Fault) {
        var isListening: Int32 = 0
        var type: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        var name = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isKnown = withUnsafeMutablePointer(to: &name) { name in
            name.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0
                    && getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0
                    && getsockname(descriptor, name, &length) == 0
                    && fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
            }
        }
        guard isKnown, isListening != 0, type == Int32(SOCK_STREAM.rawValue),
            name.sin_family == sa_family_t(AF_INET)
        else { throw .otherKind }
        self.descriptor = descriptor
        address = ListenAddress(
            host: UInt32(bigEndian: name.sin_addr.s_addr), port: UInt16(bigEndian: name.sin_port))
    }
}

extension PassedSocket.Fault: CustomStringConvertible {
    public var description: String {
        switch self {
        case .count(let count): "the service manager passed \(count) sockets; wanted one"
        case .otherKind: "the service manager passed no TCP socket of IPv4 that listens"
        }
    }
}
