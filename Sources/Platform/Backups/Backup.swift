@preconcurrency import Glibc

/// A folder with a manifest and the files that the manifest names.
public struct Backup: Sendable {
    /// The name of the manifest file.
    static let manifestName = "manifest"

    public let path: String
    public let manifest: BackupManifest

    /// Reads a backup's manifest and checks that its files exist and have the recorded sizes.
    ///
    /// - Throws: `BackupError.damaged` if they do not, or if the manifest fails its own digest;
    ///   `unusable` if `path` does not exist, is not a folder, is a symbolic link or has no
    ///   manifest.
    public init(at path: String) throws(BackupError) {
        guard let status = try DurableFile.status(of: path) else {
            throw .unusable(path: path, problem: "there is no such backup")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw .unusable(path: path, problem: "it is no folder")
        }
        let name = "\(path)/\(Backup.manifestName)"
        guard let text = try DurableFile.text(of: name, atMost: 64 << 10) else {
            throw .unusable(path: path, problem: "it has no manifest, so it is no backup")
        }
        guard let manifest = BackupManifest(text: text) else {
            throw .damaged(path: path, problem: "its manifest does not agree with itself")
        }
        for file in manifest.files {
            guard let status = try DurableFile.status(of: "\(path)/\(file.name)") else {
                throw .damaged(path: path, problem: "`\(file.name)` is missing")
            }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw .damaged(path: path, problem: "`\(file.name)` is no ordinary file")
            }
            guard status.st_size == file.sizeBytes else {
                throw .damaged(
                    path: path,
                    problem: "`\(file.name)` has \(status.st_size) bytes, not \(file.sizeBytes)")
            }
        }
        self.path = path
        self.manifest = manifest
    }

    /// The name of the backup's folder.
    public var name: String { path.split(separator: "/").last.map(String.init) ?? path }

    /// Copies a file of the backup and checks the copy against the recorded digest.
    ///
    /// - Throws: `BackupError.damaged` if the digest differs.
    public func copy(_ file: BackupManifest.File, to target: String) throws(BackupError) {
        try DurableFile.copy("\(path)/\(file.name)", to: target)
        try compare(target, with: file)
    }

    /// Checks every file against its recorded digest.
    ///
    /// - Throws: `BackupError.damaged` if a digest differs.
    public func verify() throws(BackupError) {
        for file in manifest.files { try compare("\(path)/\(file.name)", with: file) }
    }

    private func compare(_ path: String, with file: BackupManifest.File) throws(BackupError) {
        let facts = try DurableFile.facts(of: path)
        guard facts.digest == file.digest else {
            throw .damaged(
                path: self.path,
                problem: "`\(file.name)` is not what was written: its digest differs")
        }
    }
}

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

    init(_ fault: WholeFile.Fault, at path: String) {
        switch fault {
        case .refused(let code): self = .file(path: path, errno: code)
        case .tooLarge: self = .unusable(path: path, problem: "it is too large")
        }
    }

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
            "cannot use `\(path)`: \(SystemError(code: code).reason)"
        case .unusable(let path, let problem): "cannot use `\(path)`: \(problem)"
        case .noRoom(let path, let wanted, let free):
            "no room for a backup in `\(path)`: it wants \(wanted) bytes, \(free) are free"
        case .damaged(let path, let problem): "the backup `\(path)` is damaged: \(problem)"
        case .busy(let path): "another process is making a backup in `\(path)`; try again later"
        }
    }
}
