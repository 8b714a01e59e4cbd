import ClarityScheduler
@preconcurrency import Glibc

/// What a spool folder is done with: the files in its `done/` and `rejected/`.
///
/// Only regular files of the names that it gives are looked at, and neither folder is followed where
/// it is a link. A file counts from when it was moved there, which the system notes as its change.
struct SpoolRemains {
    /// One file.
    struct File: Hashable {
        var folder: String
        var name: String
        var bytes: Int64
        var movedAt: Instant
        /// What tells it from every other file.
        var identity: String
    }

    private let folder: OpenFolder

    /// Opens a spool folder.
    ///
    /// - Throws: `SourceError.missing`, `noPermission`, `notAFolder`, `unreadable`.
    init(path: String) throws(SourceError) { folder = try OpenFolder(path: path) }

    /// The files that were moved before `cutoff`, `done/` first, each in the order of the names.
    func files(before cutoff: Instant) throws(SourceError) -> [File] {
        var files: [File] = []
        for name in [SpoolFolder.doneName, SpoolFolder.rejectedName] {
            guard let remains = try open(name) else { continue }
            for entry in try remains.names(where: SpoolRemains.isOurs) {
                guard let file = file(entry, in: remains, name), file.movedAt < cutoff else {
                    continue
                }
                files.append(file)
            }
        }
        return files
    }

    /// Removes a file that is still as it was found; whether it did.
    func remove(_ file: File) throws(SourceError) -> Bool {
        guard let remains = try open(file.folder),
            self.file(file.name, in: remains, file.folder) == file
        else { return false }
        guard unlinkat(remains.descriptor, file.name, 0) == 0 else {
            throw SourceError(opening: "\(remains.path)/\(file.name)", errno)
        }
        return true
    }

    /// A folder for what is done with; `nil` where there is none.
    private func open(_ name: String) throws(SourceError) -> OpenFolder? {
        do throws(SourceError) {
            return try OpenFolder(name, in: folder, makes: false)
        } catch {
            // A link, or a file, is nothing that this program has made.
            switch error {
            case .missing, .notAFolder: return nil
            default: throw error
            }
        }
    }

    private func file(_ name: String, in remains: OpenFolder, _ folder: String) -> File? {
        var status = stat()
        guard fstatat(remains.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
            status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        let moved = status.st_ctim
        return File(
            folder: folder, name: name, bytes: Int64(status.st_size),
            movedAt: Instant(
                millisecondsSince1970: Int64(moved.tv_sec) * 1000
                    + Int64(moved.tv_nsec) / 1_000_000),
            identity: "\(status.st_dev) \(status.st_ino) \(status.st_size) \(moved.tv_sec)."
                + "\(moved.tv_nsec)")
    }

    /// Whether the spool gives a file such a name, or the one beside a rejected file.
    private static func isOurs(_ name: String) -> Bool {
        var name = name.lowercased()[...]
        if name.hasSuffix(".reason") { name = name.dropLast(".reason".count) }
        return !name.hasPrefix(".") && (name.hasSuffix(".ndjson") || name.hasSuffix(".json"))
    }
}
