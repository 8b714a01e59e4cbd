public import ClarityScheduler
@preconcurrency import Glibc
// In a target that also imports C libraries, `timespec` belongs to this module of the toolchain.
import SwiftOverlayShims

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
        guard let folder = opendir(path) else { return found }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard !isOnItsWay(name), fstatat(dirfd(folder), name, &status, 0) == 0,
                status.st_mode & S_IFMT == S_IFREG
            else { continue }
            found.files += 1
            found.newestChange = max(found.newestChange, change(status))
        }
        return found
    }

    private static func change(_ status: stat) -> Int64 {
        Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
    }
}
