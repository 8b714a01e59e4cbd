@preconcurrency import Glibc

/// Why a backup cannot be made, read or put in place.
public enum BackupError: Error, Hashable, Sendable {
    /// The system refused something about a path.
    case file(path: String, errno: Int32)
    /// What lies at a path is not what may be used there.
    case unusable(path: String, problem: String)
    /// There is not enough room for what is wanted.
    case noRoom(path: String, wantedBytes: Int64, freeBytes: Int64)
    /// A backup is not what its manifest says.
    case damaged(path: String, problem: String)
    /// Another process makes a backup there and did not end in time.
    case busy(path: String)

    /// Whether the disk is full or fails, or what is on it is damaged.
    public var isDisk: Bool {
        switch self {
        case .file(_, let code): [ENOSPC, EIO, EDQUOT, EROFS].contains(code)
        case .noRoom, .damaged: true
        case .unusable, .busy: false
        }
    }
}

extension BackupError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .file(let path, let code):
            "cannot use `\(path)`: \(String(cString: strerror(code)).lowercased())"
        case .unusable(let path, let problem): "cannot use `\(path)`: \(problem)"
        case .noRoom(let path, let wanted, let free):
            "no room for a backup in `\(path)`: it wants \(wanted) bytes, \(free) are free"
        case .damaged(let path, let problem): "the backup `\(path)` is damaged: \(problem)"
        case .busy(let path): "another process is making a backup in `\(path)`; try again later"
        }
    }
}
