import HealthModel
public import ClarityScheduler
public import Platform
@preconcurrency import Glibc

/// The tokens of those who may push to `clarity-jobs receive`, in a folder of the state directory
/// that is all of it which the receiver needs: its unit shows it nothing else.
///
/// The file has a line for each token: the BLAKE2b-256 digest of the token, when the token was
/// made, and its name. A token has 32 random bytes, so nobody can find it by its digest.
public struct PushTokens: Sendable {
    /// A token, as far as it is kept.
    public struct Entry: Hashable, Sendable {
        public var name: String
        public var madeAt: Instant
        var digest: String
    }

    /// The number of tokens that can be in use at the same time.
    public static let most = 100
    /// The most bytes that the file can have.
    private static let largestFile = 64 << 10

    /// The folder, which need not exist.
    public let folder: String
    private let path: String
    /// The file of version 0.1.0, which counts until the tokens next change.
    private let formerPath: String

    /// Names the file, which need not exist.
    public init(stateDirectory: String) {
        folder = "\(stateDirectory)/push"
        path = "\(folder)/tokens"
        formerPath = "\(stateDirectory)/push-tokens"
    }

    /// Returns the tokens in the order in which they were made.
    ///
    /// - Throws: `BackupError` if the file cannot be read or has other lines.
    public func list() throws(BackupError) -> [Entry] {
        // Asked once more, because a change removes the former file once there is the new one.
        for path in [path, formerPath, path] {
            if let text = try DurableFile.text(of: path, atMost: PushTokens.largestFile) {
                return try entries(text, of: path)
            }
        }
        return []
    }

    private func entries(_ text: String, of path: String) throws(BackupError) -> [Entry] {
        var entries: [Entry] = []
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count == 3, words[0].utf8.count == 64,
                let madeAt = Instant(rfc3339: String(words[1]))
            else { throw .unusable(path: path, problem: "line \(entries.count + 1) is no token") }
            entries.append(Entry(name: String(words[2]), madeAt: madeAt, digest: String(words[0])))
        }
        return entries
    }

    /// Makes a token and returns it, the only time that anybody sees it; `nil` if there are too
    /// many, or one of this name.
    ///
    /// - Parameter name: one to 64 letters, digits, `-`, `_` and `.` of ASCII.
    public func add(_ name: String, at now: Instant) throws(BackupError) -> String? {
        let token = PageAccess.newToken()
        let isAdded = try change { entries in
            guard entries.count < PushTokens.most, !entries.contains(where: { $0.name == name })
            else { return false }
            entries.append(Entry(name: name, madeAt: now, digest: PageAccess.digest(token)))
            return true
        }
        return isAdded ? token : nil
    }

    /// Removes the token of this name; returns `false` if there is none.
    public func revoke(_ name: String) throws(BackupError) -> Bool {
        try change { entries in
            let count = entries.count
            entries.removeAll { $0.name == name }
            return entries.count < count
        }
    }

    /// Returns the name of this token; `nil` if the file does not have it. The time that this takes
    /// does not depend on how much of a wrong token is right.
    public func name(of token: String) throws(BackupError) -> String? {
        let digest = PageAccess.digest(token)
        return try list().reduce(nil) { found, entry in
            PageAccess.isSame(digest, entry.digest) ? entry.name : found
        }
    }

    /// Whether a text can be the name of a token.
    public static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isLetterOrDigit || "-_.".utf8.contains($0) }
    }

    /// Replaces the file if `body` returns true, while no other process does.
    private func change(_ body: (inout [Entry]) -> Bool) throws(BackupError) -> Bool {
        let problem = (path, "another process is changing it")
        return try PageAccess.locked(by: "\(path).lock", or: problem) { () throws(BackupError) in
            var entries = try list()
            guard body(&entries) else { return false }
            let lines = entries.map { "\($0.digest) \($0.madeAt) \($0.name)\n" }
            try DurableFile.replace(path, by: lines.joined())
            guard unlink(formerPath) == 0 || errno == ENOENT else {
                throw .file(path: formerPath, errno: errno)
            }
            return true
        }
    }
}
