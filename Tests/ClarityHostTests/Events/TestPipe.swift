import ClarityTestSupport
import Glibc
import Platform

@testable import ClarityHost

/// A pipe whose read end belongs to the listener, and whose write end belongs to the test.
final class TestPipe: Sendable {
    private let readEnd: Int32
    private let writeEnd: Int32

    init() throws {
        // Close-on-exec from the start: otherwise a child of another test would keep it open.
        let pipe = try Pipe(from: 3)
        try pipe.readEnd.stopBlocking()
        readEnd = try Descriptor.copy(pipe.readEnd)
        writeEnd = try Descriptor.copy(pipe.writeEnd)
    }

    deinit { close(writeEnd) }

    func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(writeEnd, bytes, bytes.count)
    }

    /// Returns the read end as an event source; `make` turns all unread text into an element.
    func source<Element>(
        _ make: @escaping @Sendable (String) -> Element?
    ) -> EventSource<Element> {
        let readEnd = readEnd
        return EventSource(descriptor: readEnd) {
            var buffer = [UInt8](repeating: 0, count: 1024)
            let count = read(readEnd, &buffer, buffer.count)
            return count > 0 ? make(String(decoding: buffer[..<count], as: UTF8.self)) : nil
        }
    }

    /// Whether the read end is closed.
    var isReadEndClosed: Bool { closes(within: 0) }

    /// Whether the read end is closed within 30 seconds.
    ///
    /// A program that another test is starting holds it open until the program runs.
    var isReadEndClosedSoon: Bool { closes(within: 30_000) }

    private func closes(within milliseconds: Int32) -> Bool {
        var ends = [pollfd(fd: writeEnd, events: 0, revents: 0)]
        return poll(&ends, 1, milliseconds) == 1 && ends[0].revents & Int16(POLLERR) != 0
    }
}

extension Descriptor {
    /// Returns a duplicate of a descriptor, which somebody else closes.
    fileprivate static func copy(_ descriptor: borrowing Descriptor) throws -> Int32 {
        let copy = fcntl(descriptor.number, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw SystemError("duplicate a descriptor") }
        return copy
    }
}
