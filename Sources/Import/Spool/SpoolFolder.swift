package import ClarityScheduler
@preconcurrency import Glibc

/// A folder into which any program moves files of samples.
///
/// A file is accepted if its name ends in `.ndjson` or `.json`. Names that begin with a dot, and
/// all others, are ignored, so a program can write a file beside its destination. A file that was
/// accepted moves to `done/`. One with a bad sample moves to `rejected/`, with a list of its faults
/// beside it.
package struct SpoolFolder {
    static let doneName = "done"
    package static let rejectedName = "rejected"

    private let folder: OpenFolder

    /// Opens the folder.
    ///
    /// - Throws: `SourceError.missing`, `noPermission`, `notAFolder`, `symbolicLink`,
    ///   `unreadable`.
    init(_ place: SourcePlace) throws(SourceError) { folder = try OpenFolder(place) }

    /// Whether a file of this name is accepted.
    static func takes(_ name: String) -> Bool { isOfSamples(name) && name.utf8.count <= 200 }

    /// Whether a file of this name, which may have become longer in `done/`, is one of samples.
    static func isOfSamples(_ name: String) -> Bool {
        let name = name.lowercased()
        return !name.hasPrefix(".") && (name.hasSuffix(".ndjson") || name.hasSuffix(".json"))
    }

    /// Whether a file of this name is read whole, as a list or one object.
    static func isList(_ name: String) -> Bool { name.lowercased().hasSuffix(".json") }

    /// Returns the names of the waiting files, in order.
    ///
    /// Only regular files that are not empty count: a link could lead anywhere, and an empty file
    /// is one that somebody is about to write.
    func waiting() throws(SourceError) -> [String] {
        try folder.names(where: SpoolFolder.takes).filter { name in
            folder.stamp(of: name).map { $0.isRegular && $0.size > 0 } ?? false
        }
    }

    /// Returns the number of rejected files that are still there.
    func rejected() throws(SourceError) -> Int {
        let rejected: OpenFolder
        do throws(SourceError) {
            rejected = try OpenFolder(SpoolFolder.rejectedName, below: folder)
        } catch .missing {
            return 0
        }
        return try rejected.names(where: SpoolFolder.takes).count
    }

    /// Opens a waiting file.
    func open(_ name: String) throws(SourceError) -> RegularFile {
        try RegularFile(try OpenFile(name, in: folder))
    }

    /// Moves a file away once its samples are in the outbox.
    ///
    /// The file at this name must still be the one that was read, and unchanged. A writer may have
    /// put another one there, which then waits for its own turn.
    ///
    /// - Parameter faults: the list of its faults, for the file beside it; `nil` if there are none.
    /// - Returns: whether the file was moved.
    func settle(
        _ name: String, _ stamp: RegularFile.Stamp?, faults: String?
    ) throws(SourceError) -> Bool {
        guard let stamp, folder.stamp(of: name) == stamp else { return false }
        let target = try OpenFolder(
            faults == nil ? SpoolFolder.doneName : SpoolFolder.rejectedName, below: folder,
            makes: true)
        let newName = try SpoolFolder.reserve(name, in: target)
        do throws(SourceError) {
            if let faults { try target.write("\(newName).reason", faults) }
            try folder.move(name, to: target, newName)
        } catch {
            if faults != nil { target.remove("\(newName).reason") }
            target.remove(newName)
            throw error
        }
        // Between the check and the move somebody may have put a newer file there.
        if let moved = target.stamp(of: newName), moved != stamp, folder.stamp(of: name) == nil {
            try target.move(newName, to: folder, name)
            target.remove("\(newName).reason")
            return false
        }
        return true
    }

    /// Reserves a free name in a folder with an empty file, and returns it: `steps.json`,
    /// `steps-2.json`.
    private static func reserve(_ name: String, in folder: OpenFolder) throws(SourceError) -> String
    {
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        for number in 1...100_000 {
            let candidate = number == 1 ? name : "\(name[..<dot])-\(number)\(name[dot...])"
            guard folder.stamp(of: "\(candidate).reason") == nil else { continue }
            if try folder.reserve(candidate) { return candidate }
        }
        throw .unreadable(path: folder.path, reason: "it has too many files of one name")
    }
}

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
