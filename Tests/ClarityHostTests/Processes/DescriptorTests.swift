import Glibc
import Platform
import Testing

@testable import ClarityHost

@Suite struct DescriptorTests {
    /// Returns the device and inode of a descriptor's file, or `nil` if it is closed.
    static func file(_ number: Int32) -> [UInt64]? {
        var status = stat()
        return fstat(number, &status) == 0 ? [UInt64(status.st_dev), UInt64(status.st_ino)] : nil
    }

    @Test func `a descriptor among the child's is moved away from them`() throws {
        var template = Array("/tmp/clarity-descriptor-XXXXXX".utf8CString)
        let low = Descriptor(owning: mkstemp(&template))
        unlink(&template)
        let (number, file) = (low.number, Self.file(low.number))

        let raised = try low.raised(to: number + 100)

        #expect(raised.number >= number + 100)
        #expect(Self.file(raised.number) == file)
        #expect(Self.file(number) != file, "the low number is free")
        #expect(fcntl(raised.number, F_GETFD) & FD_CLOEXEC != 0)
    }

    @Test func `a descriptor that lies high enough stays`() throws {
        let descriptor = Descriptor(owning: open("/dev/null", O_RDONLY | O_CLOEXEC))
        let number = descriptor.number

        let raised = try descriptor.raised(to: 0)

        #expect(raised.number == number)
    }

    @Test func `no descriptor can be made from one that is closed`() {
        #expect(throws: SystemError("duplicate a descriptor", code: EBADF)) {
            _ = try Descriptor.duplicate(-1, from: 6)
        }
    }
}
