@preconcurrency import Glibc
import Synchronization

/// Tells when named files have new contents, or named folders new files, by inotify(7), without
/// polling.
///
/// The folder of each file is watched, not the file: an export arrives as a new file under the old
/// name. A file counts as changed when its writer closes it or when it is moved into its place, so
/// that nobody reads half of it. A file's folder that does not exist is not watched.
///
/// In a folder that is named itself, every file counts but those on their way to another name: what
/// begins with a dot or ends in `.tmp` or `.part`. What is moved out of it, and what happens in
/// folders below, does not. One that is made later is watched from then on.
public struct FileWatch: Sendable {
    let paths: [String]
    let folders: [String]

    /// Creates a watch over absolute paths; `folders` may be files as well.
    public init(paths: [String], folders: [String] = []) {
        self.paths = paths
        self.folders = folders
    }

    /// An element for each change, several at once being one; ends with its consumer.
    ///
    /// `events` is the thread that listens. Without any path, or where the kernel refuses to watch,
    /// it stays silent.
    public func changes(on events: EventThread) -> AsyncStream<Void> {
        guard let watch = Watch(paths, folders: folders) else { return AsyncStream { _ in } }
        return events.elements(
            of: [EventSource(descriptor: watch.descriptor) { watch.takeEvents() ? () : nil }])
    }

    /// An inotify descriptor with what counts in each watched folder.
    final class Watch: Sendable {
        private struct Names {
            /// The names that count, of each watched folder.
            var files: [Int32: Set<String>] = [:]
            /// The folders, by name in each watched folder, that are to be watched when they are made.
            var folders: [Int32: [String: String]] = [:]
            /// The folders in which every file counts.
            var whole: Set<Int32> = []
        }

        let descriptor: Int32
        private let names: Mutex<Names>

        init?(_ paths: [String], folders: [String] = []) {
            descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            names = Mutex(Names())
            guard descriptor >= 0 else { return nil }
            names.withLock { names in
                for path in paths + folders {
                    guard let (watch, name) = watchFolder(of: path) else { continue }
                    names.files[watch, default: []].insert(name)
                }
                for path in folders {
                    if let (watch, name) = watchFolder(of: path) {
                        names.folders[watch, default: [:]][name] = path
                    }
                    watchContents(of: path, &names)
                }
            }
        }

        /// Watches the folder that `path` lies in; its watch, and the name in it.
        private func watchFolder(of path: String) -> (watch: Int32, name: String)? {
            // `/a/b/` is `b` in `/a`.
            guard let end = path.lastIndex(where: { $0 != "/" }) else { return nil }
            let path = path[...end]
            guard let slash = path.lastIndex(of: "/") else { return nil }
            let folder = slash == path.startIndex ? "/" : String(path[..<slash])
            // Added to what is watched there already, as the contents of a folder of its own.
            let watch = inotify_add_watch(
                descriptor, folder,
                UInt32(IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE) | UInt32(IN_MASK_ADD))
            return watch < 0 ? nil : (watch, String(path[path.index(after: slash)...]))
        }

        private func watchContents(of path: String, _ names: inout Names) {
            let watch = inotify_add_watch(
                descriptor, path,
                UInt32(IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR) | UInt32(IN_MASK_ADD))
            if watch >= 0 { names.whole.insert(watch) }
        }

        /// Takes the events that wait; whether one of them tells of something that counts.
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
                    let start = offset + MemoryLayout<inotify_event>.size
                    let name = buffer[start..<min(start + length, count)].prefix { $0 != 0 }
                    if names.withLock({
                        counts(watch, mask, String(decoding: name, as: UTF8.self), &$0)
                    }) {
                        isWatched = true
                    }
                    offset = start + length
                }
            }
        }

        private func counts(
            _ watch: Int32, _ mask: UInt32, _ name: String, _ names: inout Names
        ) -> Bool {
            // The kernel dropped events, any of which may have been of a watched name.
            if mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
            // The folder is gone; the number may be another one's from now on.
            if mask & UInt32(IN_IGNORED) != 0 {
                names.whole.remove(watch)
                return false
            }
            let isFolder = mask & UInt32(IN_ISDIR) != 0
            if isFolder {
                guard let path = names.folders[watch]?[name] else { return false }
                // What was put into it before it was watched counts as one change.
                watchContents(of: path, &names)
                return true
            }
            // A file that is only made is not written yet.
            guard mask & UInt32(IN_CLOSE_WRITE | IN_MOVED_TO) != 0 else { return false }
            if names.files[watch]?.contains(name) == true { return true }
            return names.whole.contains(watch) && !FileWatch.isOnItsWay(name)
        }
    }

    /// Whether a name says that its file is still being written.
    static func isOnItsWay(_ name: String) -> Bool {
        name.hasPrefix(".") || name.hasSuffix(".tmp") || name.hasSuffix(".part")
    }
}
