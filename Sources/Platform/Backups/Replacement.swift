@preconcurrency import Glibc

/// Replaces files of a state directory, all of them or none, even if the process is killed.
///
/// The new files are gathered in a folder whose name nobody looks at. Renaming that folder to
/// `StateDirectory.restoringName` commits the replacement. Before that, nothing has changed. After
/// it, every other command refuses to work until `finish` has moved each file. The old files go
/// into a folder of their own, which only `removeAsides` removes.
///
/// Only one process may use this at a time, while nobody else uses the state directory.
public struct Replacement {
    /// The suffixes of a database file and of the files that may lie beside it.
    private static let suffixes = ["", "-wal", "-shm", "-journal"]
    private static let draftName = ".restoring-draft"
    /// The file that contains the name of the folder for the old files.
    private static let asideName = "aside"

    private let directory: String
    private var folder: String { "\(directory)/\(StateDirectory.restoringName)" }

    /// Prepares a replacement in a state directory.
    public init(in directory: String) { self.directory = directory }

    /// Whether a replacement was committed and is not finished.
    public var isBegun: Bool { access(folder, F_OK) == 0 }

    /// Returns the files that a committed replacement has not yet put in place, sorted.
    public func pending() throws(BackupError) -> [String] {
        try DurableFile.names(in: folder).filter { $0 != Replacement.asideName }
    }

    /// Creates the folder for the new files, with mode 0700, and returns its path.
    ///
    /// A draft that a killed process left behind is removed first.
    public func makeDraft() throws(BackupError) -> String {
        let draft = "\(directory)/\(Replacement.draftName)"
        if try DurableFile.status(of: draft) != nil { try DurableFile.removeFolder(draft) }
        guard mkdir(draft, 0o700) == 0, chmod(draft, 0o700) == 0 else {
            throw .file(path: draft, errno: errno)
        }
        return draft
    }

    /// Discards the new files.
    public func removeDraft() throws(BackupError) {
        try DurableFile.removeFolder("\(directory)/\(Replacement.draftName)")
    }

    /// Commits the replacement.
    ///
    /// - Parameter aside: the name of the folder for the old files; it must be new.
    public func commit(aside: String) throws(BackupError) {
        let draft = "\(directory)/\(Replacement.draftName)"
        for name in try DurableFile.names(in: draft) { try DurableFile.sync("\(draft)/\(name)") }
        try DurableFile.write(aside, to: "\(draft)/\(Replacement.asideName)")
        try DurableFile.sync(draft)
        try DurableFile.rename(draft, to: folder)
        try DurableFile.syncNames(in: directory)
    }

    /// Moves every file that is not yet in place.
    ///
    /// - Returns: the folder with the old files; `nil` if another call had already finished.
    @discardableResult
    public func finish() throws(BackupError) -> String? {
        let plan = "\(folder)/\(Replacement.asideName)"
        let aside = try DurableFile.text(of: plan, atMost: 255)
        if let aside {
            guard !aside.isEmpty, !aside.contains("/"), !aside.hasPrefix(".") else {
                throw .damaged(path: folder, problem: "it does not say where to put what was there")
            }
            let old = "\(directory)/\(aside)"
            guard mkdir(old, 0o700) == 0 || errno == EEXIST else {
                throw .file(path: old, errno: errno)
            }
            for name in try DurableFile.names(in: folder) where name != Replacement.asideName {
                for file in Replacement.suffixes.map({ name + $0 }) {
                    guard try DurableFile.status(of: "\(directory)/\(file)") != nil else {
                        continue
                    }
                    try DurableFile.rename("\(directory)/\(file)", to: "\(old)/\(file)")
                }
                try DurableFile.sync(old)
                try DurableFile.syncNames(in: directory)
                // From here on, the name belongs to the new file.
                try DurableFile.rename("\(folder)/\(name)", to: "\(directory)/\(name)")
            }
            try DurableFile.syncNames(in: directory)
            guard unlink(plan) == 0 else { throw .file(path: plan, errno: errno) }
        }
        guard rmdir(folder) == 0 || errno == ENOENT else {
            throw .file(path: folder, errno: errno)
        }
        try DurableFile.syncNames(in: directory)
        return aside.map { "\(directory)/\($0)" }
    }

    /// Removes the folders with the old files of earlier replacements.
    public static func removeAsides(in directory: String) throws(BackupError) {
        for name in try DurableFile.names(in: directory) where name.hasPrefix(asidePrefix) {
            try DurableFile.removeFolder("\(directory)/\(name)")
        }
    }

    /// The prefix of the names of folders for old files.
    public static let asidePrefix = "damaged-"

    /// Returns an unused name for such a folder.
    public func freeAside(_ stamp: String) throws(BackupError) -> String {
        var name = Replacement.asidePrefix + stamp
        var number = 1
        while try DurableFile.status(of: "\(directory)/\(name)") != nil {
            number += 1
            name = "\(Replacement.asidePrefix)\(stamp)-\(number)"
        }
        return name
    }
}
