import ClarityTestSupport
@preconcurrency import Glibc

/// Inspects the open descriptors of this process.
enum Descriptors {
    /// Returns the descriptors that are connected to a port of this machine.
    static func connections(to port: Int) throws -> [Int32] {
        guard let listing = opendir("/proc/self/fd") else {
            throw TemporaryFolder.Errno(code: errno)
        }
        defer { closedir(listing) }
        var connections: [Int32] = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let descriptor = Int32(name) else { continue }
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let code = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    getpeername(descriptor, $0, &size)
                }
            }
            let isThere = code == 0 && address.sin_family == sa_family_t(AF_INET)
            if isThere, Int(UInt16(bigEndian: address.sin_port)) == port {
                connections.append(descriptor)
            }
        }
        return connections
    }
}
