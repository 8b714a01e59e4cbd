import Glibc

/// A port of 127.0.0.1 on which nobody answers, and which no other program can get meanwhile.
public final class DeafPort: Sendable {
    public let number: Int
    private let descriptor: Int32

    /// Reserves a port.
    ///
    /// - Parameter takesConnections: whether clients can connect, to whom nobody ever answers.
    /// - Throws: `ScriptedServerError` if the socket cannot be created.
    public init(takesConnections: Bool = false) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
                    && (!takesConnections || listen(descriptor, 16) == 0)
            }
        }
        guard code else { throw ScriptedServerError(call: "bind", code: errno) }
        self.descriptor = descriptor
        number = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }
}
