import ClarityTestSupport
import Glibc
import Testing

@testable import Platform

@Suite("Reports to the service manager")
struct ServiceManagerTests {
    @Test func `a manager that does not read holds nobody up`() throws {
        let folder = try TemporaryFolder()
        let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
        let deaf = socket(AF_UNIX, kind, 0)
        defer { close(deaf) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = "\(folder.path)/notify"
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(deaf, $0, size) == 0 }
        }
        try #require(isBound)
        let manager = try #require(ServiceManager(["NOTIFY_SOCKET": path], process: getpid()))
        // Fills what the manager does not read.
        let other = socket(AF_UNIX, kind, 0)
        defer { close(other) }
        withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                while sendto(other, "x", 1, Int32(MSG_DONTWAIT), $0, size) == 1 {}
            }
        }

        let start = ContinuousClock.now
        manager.say("STATUS=idle")

        #expect(ContinuousClock.now - start < .seconds(30))
    }
}
