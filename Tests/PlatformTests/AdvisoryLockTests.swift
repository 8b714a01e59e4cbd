import ClarityTestSupport
import Glibc
import Testing

@testable import Platform

struct AdvisoryLockTests {
    private let folder: TemporaryFolder
    private var path: String { "\(folder.path)/lock" }

    init() throws { folder = try TemporaryFolder() }

    private func take() throws -> AdvisoryLock? {
        try AdvisoryLock.take(path, LOCK_EX, patience: .zero, makesFile: true)
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
        // As fork(2) does, this leaves a second descriptor of the same open file.
        let descriptors = try #require(opendir("/proc/self/fd"))
        var inherited: Int32 = -1
        while let entry = readdir(descriptors) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let number = Int32(name) else { continue }
            var target = [UInt8](repeating: 0, count: 4096)
            let length = readlink("/proc/self/fd/\(name)", &target, target.count)
            if length > 0, String(decoding: target[..<length], as: UTF8.self) == path {
                inherited = dup(number)
            }
        }
        closedir(descriptors)
        try #require(inherited >= 0)
        defer { close(inherited) }
        withExtendedLifetime(first) {}

        first = nil

        #expect(try take() != nil)
    }
}
