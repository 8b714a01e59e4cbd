@preconcurrency import Glibc

/// An inotify(7) descriptor, which reports changes in the folders and of the files that it watches.
public struct Inotify: Sendable {
    /// A change.
    public struct Event: Sendable {
        /// The number that `watch` returned; -1 if the kernel dropped events (`IN_Q_OVERFLOW`).
        public var watch: Int32
        public var mask: UInt32
        /// The name in the watched folder; empty if the change is of the folder or file itself.
        public var name: String

        /// Returns whether the mask has one of these bits.
        public func isAny(_ bits: Int32...) -> Bool {
            bits.contains { mask & UInt32(bitPattern: $0) != 0 }
        }
    }

    /// Non-blocking, and closed by whoever listens on it.
    public let descriptor: Int32

    /// Returns `nil` if the system gives no descriptor.
    public init?() {
        descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        if descriptor < 0 { return nil }
    }

    /// Watches a path, and returns the number of its watch; -1 if that fails.
    @discardableResult public func watch(_ path: String, _ mask: Int32) -> Int32 {
        inotify_add_watch(descriptor, path, UInt32(bitPattern: mask))
    }

    /// Reads the pending events.
    public func events() -> [Event] {
        var events: [Event] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return events }
            var offset = 0
            while offset + MemoryLayout<inotify_event>.size <= count {
                let event = buffer.withUnsafeBytes {
                    $0.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                }
                let start = offset + MemoryLayout<inotify_event>.size
                offset = start + Int(event.len)
                let name = buffer[start..<min(offset, count)].prefix { $0 != 0 }
                events.append(
                    Event(
                        watch: event.wd, mask: event.mask,
                        name: String(decoding: name, as: UTF8.self)))
            }
        }
    }
}
