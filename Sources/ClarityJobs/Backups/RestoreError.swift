/// Why a state directory was not restored; nothing has changed then.
public enum RestoreError: Error, Hashable, Sendable {
    /// The folder has no usable backup.
    case noBackup(folder: String)
    /// No file is damaged or missing, and no backup was named.
    case nothingDamaged
    /// Other processes use the state directory.
    case inUse(path: String)
    /// The backup is encrypted with another master key; carries the identifiers of both keys.
    case otherKey(backup: String, wanted: String, present: String)
    /// A file of the backup was written by a newer version.
    case newer(backup: String, file: String, found: Int, known: Int)
    /// A present file was written by a newer version, and no backup was named to replace it.
    case newerFile(path: String, found: Int, known: Int)
    /// The backup and the present files belong to different users.
    case otherUser(backup: String)
}

extension RestoreError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noBackup(let folder): "there is no backup in `\(folder)` that could be restored"
        case .nothingDamaged:
            "no file is damaged or missing; name a backup to go back to what it has"
        case .inUse(let path):
            "`\(path)` is in use by other processes; try again when they have ended, or stop the "
                + "loop meanwhile"
        case .otherKey(let backup, let wanted, let present):
            "the backup `\(backup)` is sealed with the master key \(wanted), and the key that is "
                + "there is \(present)"
        case .newer(let backup, let file, let found, let known):
            "`\(file)` of the backup `\(backup)` has version \(found), this program knows \(known); "
                + "use a newer clarity-jobs"
        case .newerFile(let path, let found, let known):
            "`\(path)` has version \(found), this program knows \(known); use a newer clarity-jobs, "
                + "or name a backup of before it to go back to"
        case .otherUser(let backup):
            "the backup `\(backup)` belongs to another user; give this one a state directory of "
                + "its own"
        }
    }
}
