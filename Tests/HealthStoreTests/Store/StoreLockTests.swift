import ClarityTestSupport
import Testing

@testable import HealthStore

struct StoreLockTests {
    private let folder: TemporaryFolder
    private var file: HealthFile { HealthFile(in: folder.path) }

    init() throws { folder = try TemporaryFolder() }

    private func inherited() throws -> InheritedDescriptor {
        try #require(InheritedDescriptor(of: file.lockPath))
    }

    @Test func `a child that has not begun its program does not keep the health data in use`()
        throws
    {
        var lock = try StoreLock.share(of: file, makesFile: true)
        let inherited = try inherited()
        withExtendedLifetime(lock) {}

        lock = nil

        #expect(throws: Never.self) { try StoreLock.alone(of: file, patience: .zero) }
        withExtendedLifetime(inherited) {}
    }

    @Test func `a child that has not begun its program does not keep an attempt alive`() throws {
        var lock = try StoreLock.share(of: file, makesFile: true)
        #expect(try lock?.lock(byte: 7) == true)
        let inherited = try inherited()
        #expect(try StoreLock.isLocked(byte: 7, of: file))

        lock = nil

        #expect(try !StoreLock.isLocked(byte: 7, of: file))
        withExtendedLifetime(inherited) {}
    }
}
