public import ClarityContract
@preconcurrency import Glibc

/// A body of known length that is read piece by piece while it is sent.
///
/// Two bodies are equal if they are the same object. Pieces are read by their offset, so a request
/// whose kept connection turns out to be dead can be sent again from the start.
public final class RequestBody: Hashable, Sendable {
    /// Fills part of the buffer with the bytes from `offset` on and returns how many; 0 at the end.
    /// Called on the transport's only thread, so it must not wait for anything slower than a disk.
    public typealias Read =
        @Sendable (_ offset: Int, _ buffer: UnsafeMutableRawBufferPointer) throws -> Int

    /// The number of bytes.
    public let count: Int
    let read: Read

    /// Creates a body of `count` bytes, 0 or more.
    public init(count: Int, read: @escaping Read) {
        self.count = count
        self.read = read
    }

    /// Returns a body with the bytes of a file as it is now. A file that becomes shorter while it
    /// is sent ends the request with `TransportError.bodyUnreadable`.
    ///
    /// - Throws: `TransportError.bodyUnreadable` if `path` is not a readable regular file.
    public static func file(_ path: String) throws(TransportError) -> RequestBody {
        let file = BodyFile(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK))
        var status = stat()
        guard file.descriptor >= 0, fstat(file.descriptor, &status) == 0,
            status.st_mode & S_IFMT == S_IFREG
        else { throw .bodyUnreadable }
        return RequestBody(count: Int(status.st_size)) { offset, buffer in
            while true {
                let count = pread(file.descriptor, buffer.baseAddress, buffer.count, off_t(offset))
                if count >= 0 { return count }
                guard errno == EINTR else { throw TransportError.bodyUnreadable }
            }
        }
    }

    public static func == (one: RequestBody, other: RequestBody) -> Bool { one === other }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// A descriptor that is closed with its last user.
private final class BodyFile: Sendable {
    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { if descriptor >= 0 { close(descriptor) } }
}
