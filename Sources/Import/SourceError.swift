/// Why a source could not be read at all.
public enum SourceError: Error, Hashable, Sendable {
    /// There is no such file or folder.
    case missing(path: String)
    /// This user is not allowed to read it.
    case noPermission(path: String)
    /// A socket, a device or a pipe.
    case notAFile(path: String)
    /// An empty file, as a phone that runs out of space can make it.
    case empty(path: String)
    /// Neither a zip archive nor the text of an export.
    case notAnExport(path: String)
    /// A zip archive or a folder without an export in it.
    case noExportInside(path: String)
    /// A zip archive that breaks off or is damaged before the export in it.
    case damaged(path: String, reason: String)
    /// A file where a folder should be.
    case notAFolder(path: String)
    /// A folder where one file should be named.
    case notOneFile(path: String)
    /// A symbolic link where none is followed.
    case symbolicLink(path: String)
    /// A file with a second name, which may be in somebody else's folder.
    case hardLink(path: String)
    /// A file that is larger than the limit for its kind.
    case tooLarge(path: String, limit: Int)
    /// Not a file of Health Auto Export.
    case notAnAutoExport(path: String)
    /// A file or folder of no kind that can be recognised by its contents.
    case unknownKind(path: String)
    /// Its days would follow another time zone than the account's.
    case otherTimeZone(path: String, named: String, settled: String)
    /// The system refused to open or read it.
    case unreadable(path: String, reason: String)
}

extension SourceError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .missing(let path): "no file or folder `\(path)`"
        case .noPermission(let path): "no permission to read `\(path)`"
        case .notAFile(let path): "`\(path)` is neither a file nor a folder"
        case .empty(let path): "`\(path)` is empty; export it from the phone again"
        case .notAnExport(let path):
            "`\(path)` is neither a zip archive nor an Apple Health export"
        case .noExportInside(let path):
            "`\(path)` has no Apple Health export in it (an xml file whose root is `HealthData`)"
        case .notAFolder(let path): "`\(path)` is no folder"
        case .notOneFile(let path): "`\(path)` is a folder; name a file in it"
        case .symbolicLink(let path):
            "`\(path)` is a symbolic link, which could lead to somebody else's data; put what it "
                + "leads to there, or name that path in the job file"
        case .hardLink(let path):
            "`\(path)` has another name (a hard link), so it may be somebody else's; put a copy "
                + "there"
        case .tooLarge(let path, let limit):
            "`\(path)` has more than \(limit >> 20) MiB; split it"
        case .notAnAutoExport(let path): "`\(path)` is no file of Health Auto Export"
        case .unknownKind(let path):
            "`\(path)` is neither an Apple Health export, nor of Health Auto Export, nor of samples"
        case .otherTimeZone(let path, let named, let settled):
            "`\(path)` would be read with the time zone `\(named)`, but the days of this account "
                + "follow `\(settled)`; leave out the time zone, or change it for all days with "
                + "`clarity-jobs import FILE --time-zone \(named) --change-time-zone`"
        case .damaged(let path, let reason): "cannot read the zip archive `\(path)`: \(reason)"
        case .unreadable(let path, let reason): "cannot read `\(path)`: \(reason)"
        }
    }
}
