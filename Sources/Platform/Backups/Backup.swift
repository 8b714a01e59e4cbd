public import ClarityScheduler
import CSodium
@preconcurrency import Glibc

/// A folder with a manifest and the files that the manifest names.
public struct Backup: Sendable {
    /// The name of the manifest file.
    static let manifestName = "manifest"
    /// The name of the copy of the job file.
    public static let jobFileName = "jobs.yaml"

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

    /// The path of the copy of the job file; `nil` without one.
    public var jobFilePath: String? {
        manifest.jobFile.map { _ in "\(path)/\(Backup.jobFileName)" }
    }

    /// The name of the backup's folder.
    public var name: String { path.split(separator: "/").last.map(String.init) ?? path }

    /// Copies a file of the backup and checks the copy against the recorded digest.
    ///
    /// - Throws: `BackupError.damaged` if the digest differs.
    public func copy(_ file: BackupManifest.File, to target: String) throws(BackupError) {
        try DurableFile.copy("\(path)/\(file.name)", to: target)
        try compare(target, with: file.digest)
    }

    /// Checks every file against its recorded digest.
    ///
    /// - Throws: `BackupError.damaged` if a digest differs.
    public func verify() throws(BackupError) {
        for file in manifest.files { try compare("\(path)/\(file.name)", with: file.digest) }
        if let digest = manifest.jobFile {
            try compare("\(path)/\(Backup.jobFileName)", with: digest)
        }
    }

    private func compare(_ path: String, with digest: String) throws(BackupError) {
        let name = path.split(separator: "/").last ?? ""
        guard try DurableFile.facts(of: path).digest == digest else {
            throw .damaged(
                path: self.path, problem: "`\(name)` is not what was written: its digest differs")
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

/// The content of a backup, as a small text beside its files; the last line is a digest of the
/// others.
///
/// It contains no health value and no key. `key` only tells two master keys apart: it is derived
/// from the key in a way that cannot be reversed.
public struct BackupManifest: Hashable, Sendable {
    /// The reason why a backup was made.
    public enum Reason: String, CaseIterable, Sendable {
        /// A user or a timer requested it.
        case asked
        /// The program was about to change the file's schema.
        case beforeMigration = "before-migration"
    }

    /// A database in the backup.
    public struct File: Hashable, Sendable {
        /// The file's name, both in the backup and in the state directory.
        public var name: String
        /// The version of the database's schema.
        public var version: Int
        public var sizeBytes: Int64
        /// The SHA-256 digest, as 64 hexadecimal digits.
        public var digest: String
    }

    public var madeAt: Instant
    public var reason: Reason
    /// The version of the program that made the backup.
    public var program: String
    /// The identifier of the master key that decrypts the backup; `nil` without health data.
    public var key: String?
    public var files: [File]
    /// The SHA-256 digest of the copy of the job file; `nil` without one. It is no file of the state,
    /// and a restore does not put it in place.
    public var jobFile: String?

    /// The total size of all files.
    public var sizeBytes: Int64 { files.reduce(0) { $0 + $1.sizeBytes } }

    /// Returns whether the backup contains a file of this name.
    public func has(_ name: String) -> Bool { files.contains { $0.name == name } }

    /// The text that `init(text:)` parses: one fact a line, and last the digest of the lines
    /// before.
    var text: String {
        var lines = [
            BackupManifest.firstLine, "made \(madeAt)", "reason \(reason.rawValue)",
            "program \(program)",
        ]
        if let key { lines.append("key \(key)") }
        if let jobFile { lines.append("job-file \(jobFile)") }
        for file in files {
            lines.append("file \(file.name) \(file.version) \(file.sizeBytes) \(file.digest)")
        }
        let body = lines.map { $0 + "\n" }.joined()
        return "\(body)digest \(SHA256.hex(of: body.utf8))\n"
    }

    private static let firstLine = "clarity-jobs backup 1"

    /// Whether a name cannot lead out of the folder that it is used in.
    private static func isName(_ name: Substring) -> Bool {
        !name.hasPrefix(".") && !name.contains("/") && !name.utf8.contains { $0 < 0x21 }
    }
}

extension BackupManifest {
    /// Parses `text`; `nil` for any other text, even if only one byte differs.
    init?(text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 2, lines.last == "" else { return nil }
        let body = lines.dropLast(2).map { $0 + "\n" }.joined()
        guard lines[lines.count - 2] == "digest \(SHA256.hex(of: body.utf8))" else { return nil }
        var facts: [Substring: Substring] = [:]
        files = []
        for line in lines.dropLast(2).dropFirst() {
            let words = line.split(separator: " ")
            if words.count == 5, words[0] == "file", let version = Int(words[2]), version >= 0,
                let size = Int64(words[3]), size >= 0, BackupManifest.isName(words[1])
            {
                files.append(
                    File(
                        name: String(words[1]), version: version, sizeBytes: size,
                        digest: String(words[4])))
            } else if words.count == 2, facts[words[0]] == nil {
                facts[words[0]] = words[1]
            } else {
                return nil
            }
        }
        guard lines[0] == BackupManifest.firstLine, !files.isEmpty,
            Set(files.map(\.name)).count == files.count,
            let made = facts["made"].flatMap({ Instant(rfc3339: String($0)) }),
            let reason = facts["reason"].flatMap({ Reason(rawValue: String($0)) }),
            let program = facts["program"]
        else { return nil }
        madeAt = made
        self.reason = reason
        self.program = String(program)
        key = facts["key"].map(String.init)
        jobFile = facts["job-file"].map(String.init)
    }
}

/// SHA-256 (FIPS 180-4), which checks that a copy is what was written; `sha256sum` gives the same.
struct SHA256 {
    private var state = crypto_hash_sha256_state()

    init() { crypto_hash_sha256_init(&state) }

    /// Returns the digest of bytes as 64 hexadecimal digits.
    static func hex(of bytes: some Sequence<UInt8>) -> String {
        var digest = SHA256()
        Array(bytes).withUnsafeBytes { digest.update($0) }
        return digest.finish()
    }

    /// Adds bytes to the digest.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        let bytes = bytes.assumingMemoryBound(to: UInt8.self)
        crypto_hash_sha256_update(&state, bytes.baseAddress, UInt64(bytes.count))
    }

    /// Returns the digest of all bytes as 64 hexadecimal digits; no bytes may be added afterwards.
    mutating func finish() -> String {
        var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
        crypto_hash_sha256_final(&state, &digest)
        return hexEncoded(digest)
    }
}
