@preconcurrency import Glibc

/// Tells when named files or folders have new contents, by inotify(7), without polling.
///
/// The folder of each file is watched, not the file: an export arrives as a new file under the old
/// name. A file counts as changed when its writer closes it or when it is moved into its place, so
/// that nobody reads half of it. A folder that does not exist is not watched.
public struct FileWatch: Sendable {
    private let paths: [String]

    /// Creates a watch over absolute paths.
    public init(paths: [String]) { self.paths = paths }

    /// An element for each change, several at once being one; ends with its consumer.
    ///
    /// `events` is the thread that listens. Without any path, or where the kernel refuses to watch,
    /// it stays silent.
    public func changes(on events: EventThread) -> AsyncStream<Void> {
        guard let watch = Watch(paths) else { return AsyncStream { _ in } }
        return events.elements(
            of: [EventSource(descriptor: watch.descriptor) { watch.takeEvents() ? () : nil }])
    }

    /// An inotify descriptor with the names that count in each watched folder.
    struct Watch: Sendable {
        let descriptor: Int32
        private var names: [Int32: Set<String>] = [:]

        init?(_ paths: [String]) {
            descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            guard descriptor >= 0 else { return nil }
            for path in paths {
                guard let slash = path.lastIndex(of: "/") else { continue }
                let folder = slash == path.startIndex ? "/" : String(path[..<slash])
                let watch = inotify_add_watch(
                    descriptor, folder, UInt32(IN_CLOSE_WRITE | IN_MOVED_TO))
                if watch >= 0 {
                    names[watch, default: []].insert(String(path[path.index(after: slash)...]))
                }
            }
        }

        /// Takes the events that wait; whether one of them tells of a watched name.
        func takeEvents() -> Bool {
            var isWatched = false
            var buffer = [UInt8](repeating: 0, count: 16 << 10)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                guard count > 0 else { return isWatched }
                var offset = 0
                while offset + MemoryLayout<inotify_event>.size <= count {
                    let (watch, mask, length) = buffer.withUnsafeBytes { bytes in
                        let event = bytes.loadUnaligned(
                            fromByteOffset: offset, as: inotify_event.self)
                        return (event.wd, event.mask, Int(event.len))
                    }
                    // The kernel dropped events, any of which may have been of a watched name.
                    if mask & UInt32(IN_Q_OVERFLOW) != 0 { isWatched = true }
                    let start = offset + MemoryLayout<inotify_event>.size
                    let name = buffer[start..<min(start + length, count)].prefix { $0 != 0 }
                    if names[watch]?.contains(String(decoding: name, as: UTF8.self)) == true {
                        isWatched = true
                    }
                    offset = start + length
                }
            }
        }
    }
}
