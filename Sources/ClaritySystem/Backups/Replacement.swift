@preconcurrency import Glibc

/// Puts files in the place of those of a state directory, all of them or none, whenever it is killed.
///
/// The new files are gathered under a name that nobody looks at. Renaming that folder to
/// `StateDirectory.restoringName` is the instant from which the replacement is decided: before it
/// nothing has changed, after it every other command refuses to work until `finish` has moved each
/// file. What was there goes into a folder of its own and is never removed.
///
/// To be used by one process at a time, while nobody else uses the state directory.
public struct Replacement {
    /// What a database's file may have beside it.
    private static let suffixes = ["", "-wal", "-shm", "-journal"]
    private static let draftName = ".restoring-draft"
    /// The file that names the folder for what was there.
    private static let asideName = "aside"

    private let directory: String
    private var folder: String { "\(directory)/\(StateDirectory.restoringName)" }

    /// Prepares a replacement in a state directory.
    public init(in directory: String) { self.directory = directory }

    /// Whether one was decided and is not finished.
    public var isBegun: Bool { access(folder, F_OK) == 0 }

    /// The files that one which was decided has not put in their place yet, sorted.
    public func pending() throws(BackupError) -> [String] {
        try DurableFile.names(in: folder).filter { $0 != Replacement.asideName }
    }

    /// Makes the folder for the new files, of mode 0700, and returns its path; what a killed process
    /// left of another is removed.
    public func makeDraft() throws(BackupError) -> String {
        let draft = "\(directory)/\(Replacement.draftName)"
        if try DurableFile.status(of: draft) != nil { try DurableFile.removeFolder(draft) }
        guard mkdir(draft, 0o700) == 0, chmod(draft, 0o700) == 0 else {
            throw .file(path: draft, errno: errno)
        }
        return draft
    }

    /// Gives the new files up.
    public func removeDraft() throws(BackupError) {
        try DurableFile.removeFolder("\(directory)/\(Replacement.draftName)")
    }

    /// Decides the replacement.
    ///
    /// - Parameter aside: the name of the folder for what was there; it must be new.
    public func commit(aside: String) throws(BackupError) {
        let draft = "\(directory)/\(Replacement.draftName)"
        for name in try DurableFile.names(in: draft) { try DurableFile.sync("\(draft)/\(name)") }
        try DurableFile.write(aside, to: "\(draft)/\(Replacement.asideName)")
        try DurableFile.sync(draft)
        try DurableFile.rename(draft, to: folder)
        try DurableFile.syncNames(in: directory)
    }

    /// Moves every file that is not in its place yet.
    ///
    /// - Returns: the folder with what was there; `nil` when another call had finished already.
    @discardableResult
    public func finish() throws(BackupError) -> String? {
        let plan = "\(folder)/\(Replacement.asideName)"
        let aside = try DurableFile.text(of: plan, atMost: 255)
        if let aside {
            guard !aside.isEmpty, !aside.contains("/"), !aside.hasPrefix(".") else {
                throw .damaged(path: folder, problem: "it does not say where to put what was there")
            }
            let place = "\(directory)/\(aside)"
            guard mkdir(place, 0o700) == 0 || errno == EEXIST else {
                throw .file(path: place, errno: errno)
            }
            for name in try DurableFile.names(in: folder) where name != Replacement.asideName {
                for file in Replacement.suffixes.map({ name + $0 }) {
                    guard try DurableFile.status(of: "\(directory)/\(file)") != nil else {
                        continue
                    }
                    try DurableFile.rename("\(directory)/\(file)", to: "\(place)/\(file)")
                }
                try DurableFile.sync(place)
                try DurableFile.syncNames(in: directory)
                // From here on what lies at the name is the new file.
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

    /// Removes the folders with what was there before earlier replacements.
    public static func removeAsides(in directory: String) throws(BackupError) {
        for name in try DurableFile.names(in: directory) where name.hasPrefix(asidePrefix) {
            try DurableFile.removeFolder("\(directory)/\(name)")
        }
    }

    /// With what the name of a folder for what was there begins.
    public static let asidePrefix = "damaged-"

    /// A name for such a folder that is not taken.
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
