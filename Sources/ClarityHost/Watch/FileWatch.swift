public import ClarityScheduler
import Platform
@preconcurrency import Glibc
// In a target that also imports C libraries, `timespec` belongs to this module of the toolchain.
import SwiftOverlayShims
import Synchronization

/// Reports new contents of named files and new files in named folders, using inotify(7) instead of
/// polling.
///
/// For a named file, watches its folder: an export arrives as a new file under the old name. A file
/// counts as changed when its writer closes it or when it is moved into place, so that nobody reads
/// a half-written file. A symbolic link counts as soon as it is there. If the folder of a file does
/// not exist, the file is not watched. That the folder itself is moved or removed counts too.
///
/// A named file is also watched itself, because its folder does not hear of a writer that knows it by
/// another path: one that is mounted over its place, as in a container. If such a mount's original is
/// replaced by another file, nothing changes here, and no event comes.
///
/// In a named folder, every file counts unless its name shows that it is still being written: it
/// begins with a dot, or ends in `.tmp` or `.part`. Files that leave the folder count only if that is
/// asked for, and changes in its subfolders never. A named folder that is created later is watched
/// from then on.
public struct FileWatch: Sendable {
    let paths: [String]
    let folders: [String]
    private let countsRemovals: Bool

    /// Creates a watch over absolute paths; an entry of `folders` may also be a file.
    ///
    /// - Parameter countsRemovals: whether files that leave a named folder count too.
    public init(paths: [String], folders: [String] = [], countsRemovals: Bool = false) {
        self.paths = paths
        self.folders = folders
        self.countsRemovals = countsRemovals
    }

    /// Yields an element for each change, and one element for several changes at once.
    ///
    /// The stream ends when its consumer does. `events` is the thread that listens. Without any
    /// path, or if the kernel refuses to watch, the stream stays silent.
    public func changes(on events: EventThread) -> AsyncStream<Void> {
        guard let watch = Watch(paths, folders: folders, countsRemovals: countsRemovals) else {
            return AsyncStream { _ in }
        }
        return events.elements(
            of: [EventSource(descriptor: watch.descriptor) { watch.takeEvents() ? () : nil }])
    }

    /// An inotify descriptor, and the names that count in each watched folder.
    final class Watch: Sendable {
        private struct Names {
            /// The paths that count, by watched folder and name.
            var files: [Int32: [String: String]] = [:]
            /// The watches of the named files themselves, by path.
            var inodes: [String: Int32] = [:]
            /// The folders to watch once they are created: paths by watched parent folder and name.
            var folders: [Int32: [String: String]] = [:]
            /// The folders in which every file counts.
            var whole: Set<Int32> = []
        }

        private let inotify: Inotify
        var descriptor: Int32 { inotify.descriptor }
        private let names: Mutex<Names>
        /// The events of files that leave a folder, if they count.
        private let removals: Int32

        init?(_ paths: [String], folders: [String] = [], countsRemovals: Bool = false) {
            removals = countsRemovals ? IN_DELETE | IN_MOVED_FROM : 0
            guard let inotify = Inotify() else { return nil }
            self.inotify = inotify
            names = Mutex(Names())
            names.withLock { names in
                for path in paths + folders {
                    guard let (watch, name) = watchFolder(of: path) else { continue }
                    names.files[watch, default: [:]][name] = path
                }
                for path in paths { watchInode(at: path, &names) }
                for path in folders {
                    if let (watch, name) = watchFolder(of: path) {
                        names.folders[watch, default: [:]][name] = path
                    }
                    watchContents(of: path, &names)
                }
            }
        }

        /// Watches the folder that contains `path`, and returns its watch and the name of `path` in
        /// it.
        private func watchFolder(of path: String) -> (watch: Int32, name: String)? {
            // `/a/b/` is `b` in `/a`.
            guard let end = path.lastIndex(where: { $0 != "/" }) else { return nil }
            let path = path[...end]
            guard let slash = path.lastIndex(of: "/") else { return nil }
            let folder = slash == path.startIndex ? "/" : String(path[..<slash])
            // `IN_MASK_ADD` keeps the events for which this folder is already watched, as a folder
            // of its own.
            let watch = inotify.watch(
                folder,
                IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_MOVE_SELF | IN_DELETE_SELF
                    | IN_MASK_ADD)
            return watch < 0 ? nil : (watch, String(path[path.index(after: slash)...]))
        }

        /// Watches the file that is at a path now, instead of the one that was there.
        private func watchInode(at path: String, _ names: inout Names) {
            let watch = inotify.watch(path, IN_CLOSE_WRITE | IN_MASK_ADD)
            let former = names.inodes.updateValue(watch, forKey: path)
            if let former, former >= 0, former != watch { inotify_rm_watch(descriptor, former) }
        }

        private func watchContents(of path: String, _ names: inout Names) {
            let watch = inotify.watch(
                path, IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR | removals | IN_MASK_ADD)
            if watch >= 0 { names.whole.insert(watch) }
        }

        private static func isLink(_ path: String) -> Bool {
            var status = stat()
            return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
        }

        /// Reads the pending events, and returns whether any of them counts.
        func takeEvents() -> Bool {
            names.withLock { names in
                // Each is looked at, because some begin a watch.
                inotify.events().reduce(false) { counts($1, &names) || $0 }
            }
        }

        private func counts(_ event: Inotify.Event, _ names: inout Names) -> Bool {
            let (watch, name) = (event.watch, event.name)
            // The kernel dropped events, and any of them may have been about a watched name.
            if event.isAny(IN_Q_OVERFLOW) { return true }
            // The folder is no longer where it was, and with it the files.
            if event.isAny(IN_MOVE_SELF, IN_DELETE_SELF) {
                return names.files[watch]?.isEmpty == false
            }
            // The folder is gone, and its watch number may be reused for another one.
            if event.isAny(IN_IGNORED) {
                names.whole.remove(watch)
                return false
            }
            if event.isAny(IN_ISDIR) {
                guard let path = names.folders[watch]?[name] else { return false }
                // Files that arrived before this folder was watched count as one change.
                watchContents(of: path, &names)
                return true
            }
            if names.inodes.values.contains(watch) { return true }
            let path = names.files[watch]?[name]
            if let path, names.inodes[path] != nil, event.isAny(IN_CREATE, IN_MOVED_TO) {
                watchInode(at: path, &names)
            }
            // A file that was only created is not written yet; a link is complete.
            guard event.isAny(IN_CLOSE_WRITE, IN_MOVED_TO, removals) else {
                return path.map(Watch.isLink) ?? false
            }
            if path != nil { return true }
            return names.whole.contains(watch) && !FileWatch.isOnItsWay(name)
        }
    }

    /// Whether a name shows that its file is still being written.
    static func isOnItsWay(_ name: String) -> Bool {
        name.hasPrefix(".") || name.hasSuffix(".tmp") || name.hasSuffix(".part")
    }
}

extension FileWatch {
    /// Returns the current fingerprint of each watched file and folder, by path.
    ///
    /// A fingerprint covers the same files as `changes`. A file counts by its status change time
    /// (`st_ctim`, inode(7)): the kernel updates it with each write and, on the usual file systems,
    /// with each rename, and no program can set it back.
    ///
    /// - Parameter isThere: whether a path exists and its file system answers. Other paths are left
    ///   out, so that a server that is down blocks nobody, and a path that comes back is compared
    ///   with its last known fingerprint.
    public func fingerprints(
        where isThere: (String) -> Bool
    ) -> [String: SourceFingerprint] {
        (paths + folders).filter(isThere).reduce(into: [:]) {
            $0[$1] = FileWatch.fingerprint(of: $1)
        }
    }

    private static func fingerprint(of path: String) -> SourceFingerprint {
        var status = stat()
        guard stat(path, &status) == 0 else { return SourceFingerprint(files: 0, newestChange: 0) }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            return SourceFingerprint(files: 1, newestChange: change(status))
        }
        var found = SourceFingerprint(isFolder: true, files: 0, newestChange: 0)
        do throws(WholeFile.Fault) {
            for name in try WholeFile.names(in: path) where !isOnItsWay(name) {
                guard stat("\(path)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG
                else { continue }
                found.files += 1
                found.newestChange = max(found.newestChange, change(status))
            }
        } catch {
            // Without its names, the folder has nothing new.
        }
        return found
    }

    private static func change(_ status: stat) -> Int64 {
        Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
    }
}
