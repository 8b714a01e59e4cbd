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
