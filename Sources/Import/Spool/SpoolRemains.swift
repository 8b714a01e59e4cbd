package import ClarityScheduler
@preconcurrency import Glibc

/// The files that a spool folder has accepted without a fault, in its `done/`. Files in `rejected/`
/// were not accepted, and stay.
///
/// Only regular files of accepted names count, and a folder that is a link is not followed. The age
/// of a file counts from its move, which the system records as its status change.
package struct SpoolRemains {
    /// One file.
    package struct File: Hashable {
        var name: String
        package var bytes: Int64
        package var movedAt: Instant
        /// Distinguishes the file from every other one.
        package var identity: String
    }

    private let folder: OpenFolder

    /// Opens a spool folder.
    ///
    /// - Throws: `SourceError.missing`, `noPermission`, `notAFolder`, `symbolicLink`,
    ///   `unreadable`.
    package init(_ place: SourcePlace) throws(SourceError) { folder = try OpenFolder(place) }

    /// Returns the files that were moved before `cutoff`, in the order of their names.
    package func files(before cutoff: Instant) throws(SourceError) -> [File] {
        guard let remains = try open() else { return [] }
        return try remains.names(where: SpoolFolder.isOfSamples)
            .compactMap { file($0, in: remains) }.filter { $0.movedAt < cutoff }
    }

    /// Removes a file if it is unchanged since it was found; returns whether it did.
    package func remove(_ file: File) throws(SourceError) -> Bool {
        guard let remains = try open(), self.file(file.name, in: remains) == file else {
            return false
        }
        guard unlinkat(remains.descriptor, file.name, 0) == 0 else {
            throw SourceError(opening: "\(remains.path)/\(file.name)", errno)
        }
        return true
    }

    /// Returns the folder of accepted files; `nil` if there is none.
    private func open() throws(SourceError) -> OpenFolder? {
        do throws(SourceError) {
            return try OpenFolder(SpoolFolder.doneName, below: folder)
        } catch {
            // This program makes neither a link nor a file of this name.
            switch error {
            case .missing, .notAFolder, .symbolicLink: return nil
            default: throw error
            }
        }
    }

    private func file(_ name: String, in remains: OpenFolder) -> File? {
        var status = stat()
        guard fstatat(remains.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
            status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        let moved = status.st_ctim
        return File(
            name: name, bytes: Int64(status.st_size),
            movedAt: Instant(
                millisecondsSince1970: Int64(moved.tv_sec) * 1000
                    + Int64(moved.tv_nsec) / 1_000_000),
            identity: "\(status.st_dev) \(status.st_ino) \(status.st_size) \(moved.tv_sec)."
                + "\(moved.tv_nsec)")
    }
}
