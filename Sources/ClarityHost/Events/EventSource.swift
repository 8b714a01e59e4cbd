import Glibc

/// A descriptor that becomes readable when something has happened.
struct EventSource<Element: Sendable>: Sendable {
    /// Open, and does not block; whoever listens closes it.
    var descriptor: Int32
    /// Takes all that waits there; `nil` when none of it matters.
    ///
    /// Called on the thread that listens, one at a time. It must neither wait nor listen.
    var take: @Sendable () -> Element?
}

extension EventSource {
    /// A timerfd(2) or an eventfd(2); `make` gets its count, which begins anew.
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
