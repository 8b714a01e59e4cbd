import ClarityTestSupport
import Glibc
import Testing

@testable import Platform

struct FileLockTests {
    private let folder: TemporaryFolder
    private var path: String { "\(folder.path)/lock" }

    init() throws { folder = try TemporaryFolder() }

    private func take() throws -> FileLock? {
        try FileLock.take(path, LOCK_EX, patience: .zero, makesFile: true)
    }

    @Test func `one at a time has the lock`() throws {
        var first = try take()

        let second = try take()
        #expect(second == nil)
        withExtendedLifetime(first) {}
        first = nil

        #expect(try take() != nil)
    }

    @Test func `a child that has not begun its program does not keep the lock`() throws {
        var first = try take()
        let inherited = try #require(InheritedDescriptor(of: path))
        withExtendedLifetime(first) {}

        first = nil

        #expect(try take() != nil)
        withExtendedLifetime(inherited) {}
    }
}
