/// Advice on what to do about a damaged file of the state directory.
public enum DamageAdvice {
    /// Returns advice such as ``restore the backup of 2026-11-20T06:00:00Z with
    /// `clarity-jobs restore` ``, or says that there is no backup.
    ///
    /// If the file is missing, the advice also says how to begin anew.
    ///
    /// - Parameter path: the path of the damaged file in its state directory.
    public static func words(about path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return none }
        let name = String(path[path.index(after: slash)...])
        let folder = BackupFolder(ofState: String(path[..<slash]))
        do throws(BackupError) {
            let backups = try folder.entries().compactMap(\.backup)
            guard let newest = backups.first(where: { $0.manifest.has(name) }) else { return none }
            return "restore the backup of \(newest.manifest.madeAt) with `clarity-jobs restore`"
                + (try DurableFile.status(of: path) == nil
                    ? ", or take the backups away to begin anew" : "")
        } catch {
            return "the backups cannot be read either: \(error)"
        }
    }

    private static let none = "there is no backup to restore"
}
