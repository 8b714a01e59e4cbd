import ClarityTestSupport
import Glibc
import Testing

@testable import Platform

struct FolderDescriptorTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func `a folder below another one is made, and stays the same when it is renamed`()
        throws
    {
        let above = try FolderDescriptor(folder.path, for: .passing)

        let below = try FolderDescriptor("a", below: above, for: .listing, makes: true)
        #expect(rename("\(folder.path)/a", "\(folder.path)/b") == 0)

        let file = openat(below.descriptor, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(file >= 0)
        close(file)
        #expect(access("\(folder.path)/b/f", F_OK) == 0)
    }

    @Test func `neither a link nor a file is a folder below another one`() throws {
        try folder.write("file", [])
        #expect(symlink("/", "\(folder.path)/link") == 0)
        let above = try FolderDescriptor(folder.path, for: .passing)

        for (name, fault) in [
            ("link", FolderDescriptor.Fault.symbolicLink), ("file", .refused(ENOTDIR)),
            ("none", .refused(ENOENT)),
        ] {
            #expect(throws: fault) { try FolderDescriptor(name, below: above, for: .passing) }
            #expect(throws: fault) { try FolderDescriptor(name, below: above, for: .listing) }
        }
    }

    @Test func `the names of a path leave out what leads nowhere`() {
        #expect(FolderDescriptor.names("/a/./b//c/") == ["a", "b", "c"])
        #expect(FolderDescriptor.names(".") == [])
    }
}
