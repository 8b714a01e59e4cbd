@preconcurrency import Glibc

/// A reason why a backup cannot be made, read or restored.
public enum BackupError: Error, Hashable, Sendable {
    /// The system refused an operation on a path.
    case file(path: String, errno: Int32)
    /// The file or folder at a path may not be used for this.
    case unusable(path: String, problem: String)
    /// There is not enough free space.
    case noRoom(path: String, wantedBytes: Int64, freeBytes: Int64)
    /// A backup does not match its manifest.
    case damaged(path: String, problem: String)
    /// Another process is making a backup there and did not finish in time.
    case busy(path: String)

    /// Whether the disk is full or fails, or its content is damaged.
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
