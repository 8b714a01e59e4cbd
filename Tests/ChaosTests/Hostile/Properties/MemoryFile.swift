import ClarityTestSupport
import Glibc

/// A regular file for readers that need a path, in memory if the machine has room for that.
final class MemoryFile {
    private let folder: TemporaryFolder
    private let descriptor: Int32
    let path: String

    init() throws {
        folder = try TemporaryFolder(isInMemory: true)
        path = "\(folder.path)/text"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw TemporaryFolder.Errno(code: errno) }
    }

    deinit { close(descriptor) }

    /// Replaces the content of the file with `bytes`.
    func hold(_ bytes: UnsafeBufferPointer<UInt8>) throws {
        guard ftruncate(descriptor, 0) == 0,
            pwrite(descriptor, bytes.baseAddress, bytes.count, 0) == bytes.count
        else { throw TemporaryFolder.Errno(code: errno) }
    }
}
