import CLinux
import Glibc

/// A descriptor that becomes readable when something has happened.
struct EventSource<Element: Sendable>: Sendable {
    /// Open and non-blocking. The listener closes it.
    var descriptor: Int32
    /// Reads everything that is pending; returns `nil` if none of it matters.
    ///
    /// The listening thread calls it, one call at a time. It must not block and must not start to
    /// listen.
    var take: @Sendable () -> Element?
}

extension EventSource {
    /// Creates a source for a timerfd(2) or an eventfd(2). `make` gets the count, which each read
    /// resets.
    static func counter(
        _ descriptor: Int32, _ make: @escaping @Sendable (UInt64) -> Element
    ) -> EventSource {
        EventSource(descriptor: descriptor) {
            var count: UInt64 = 0
            let size = MemoryLayout<UInt64>.size
            return read(descriptor, &count, size) == size ? make(count) : nil
        }
    }
}

/// An eventfd(2) that wakes any number of listeners.
final class Bell: Sendable {
    /// -1 if the process is out of descriptors.
    let descriptor = clinux_eventfd()

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Wakes every listener.
    func ring() {
        var one: UInt64 = 1
        if descriptor >= 0 { _ = write(descriptor, &one, MemoryLayout<UInt64>.size) }
    }

    /// Opens a source that has an element whenever the bell has rung; the first may be for an
    /// earlier ring. `nil` if the process is out of descriptors.
    func source() -> EventSource<Void>? {
        let listener = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        // The count is not read, because other listeners need it. Each ring is reported once
        // anyway.
        return listener < 0 ? nil : EventSource(descriptor: listener) { () }
    }
}

/// The signals with which people and services control a program.
extension EventThread {
    /// Returns a stream with an element whenever the process receives signal `number`, which has no
    /// other effect from now on. Signals that come before an element is taken are one element.
    ///
    /// If the process is out of descriptors, the signal keeps its effect.
    public func signals(_ number: Int32) -> AsyncStream<Void> {
        elements(of: sources([number], endingAtSecond: false) { _ in })
    }

    /// Returns a stream with what `element` makes of the first SIGINT or SIGTERM that the process
    /// receives. A second signal of either kind ends the process at once with status 128 plus its
    /// number, even while this thread is busy.
    ///
    /// The listening thread calls `element`. If the process is out of descriptors, the signals keep
    /// their effect.
    public func termination<Element: Sendable>(
        _ element: @escaping @Sendable (_ number: Int32) -> Element
    ) -> AsyncStream<Element> {
        elements(of: sources([SIGINT, SIGTERM], endingAtSecond: true, element))
    }

    private func sources<Element>(
        _ numbers: [Int32], endingAtSecond: Bool,
        _ element: @escaping @Sendable (Int32) -> Element
    ) -> [EventSource<Element>] {
        numbers.compactMap { number in
            let descriptor = clinux_announce_signal(number, endingAtSecond ? 1 : 0)
            guard descriptor >= 0 else { return nil }
            return .counter(descriptor) { _ in element(number) }
        }
    }
}
