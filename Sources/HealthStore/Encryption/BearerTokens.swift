import HealthModel
public import ClarityScheduler
public import Platform
@preconcurrency import Glibc

/// The tokens of programs that send a request without a person: those that push to
/// `clarity-jobs receive`, and those that ask `clarity-jobs serve` for runs.
///
/// The file has a line for each token: the BLAKE2b-256 digest of the token, when the token was
/// made, its name, and the jobs that it may run, if any. A token has 32 random bytes, so nobody can
/// find it by its digest. The file of pushes has a folder of its own in the state directory, which
/// is all of it that the receiver needs: its unit shows it nothing else.
public struct BearerTokens: Sendable {
    /// A token, as far as it is kept.
    public struct Entry: Hashable, Sendable {
        public var name: String
        public var madeAt: Instant
        /// The ids of the jobs that it may run, and nothing else; empty for a token of pushes.
        public var jobs: [String] = []
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
    private let formerPath: String?

    /// Names the file of pushes, which need not exist.
    public static func ofPushes(stateDirectory: String) -> BearerTokens {
        BearerTokens(
            folder: "\(stateDirectory)/push", name: "tokens",
            formerPath: "\(stateDirectory)/push-tokens")
    }

    /// Names the file of those who may run jobs, which need not exist.
    public static func ofRuns(stateDirectory: String) -> BearerTokens {
        BearerTokens(folder: "\(stateDirectory)/pages", name: "run-tokens", formerPath: nil)
    }

    private init(folder: String, name: String, formerPath: String?) {
        self.folder = folder
        path = "\(folder)/\(name)"
        self.formerPath = formerPath
    }

    /// Returns the tokens in the order in which they were made.
    ///
    /// - Throws: `BackupError` if the file cannot be read or has other lines.
    public func list() throws(BackupError) -> [Entry] {
        // Asked once more, because a change removes the former file once there is the new one.
        for path in [path, formerPath, path].compactMap(\.self) {
            if let text = try DurableFile.text(of: path, atMost: BearerTokens.largestFile) {
                return try entries(text, of: path)
            }
        }
        return []
    }

    private func entries(_ text: String, of path: String) throws(BackupError) -> [Entry] {
        var entries: [Entry] = []
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard (3...4).contains(words.count), words[0].utf8.count == 64,
                let madeAt = Instant(rfc3339: String(words[1]))
            else { throw .unusable(path: path, problem: "line \(entries.count + 1) is no token") }
            let jobs = words.count == 4 ? words[3].split(separator: ",").map(String.init) : []
            entries.append(
                Entry(
                    name: String(words[2]), madeAt: madeAt, jobs: jobs, digest: String(words[0])))
        }
        return entries
    }

    /// Makes a token and returns it, the only time that anybody sees it; `nil` if there are too
    /// many, or one of this name.
    ///
    /// - Parameters:
    ///   - name: one to 64 letters, digits, `-`, `_` and `.` of ASCII.
    ///   - jobs: the ids of the jobs that it may run.
    public func add(
        _ name: String, mayRun jobs: [JobID] = [], at now: Instant
    ) throws(BackupError) -> String? {
        let token = PageAccess.newToken()
        let isAdded = try change { entries in
            guard entries.count < BearerTokens.most, !entries.contains(where: { $0.name == name })
            else { return false }
            entries.append(
                Entry(
                    name: name, madeAt: now, jobs: jobs.map(\.rawValue),
                    digest: PageAccess.digest(token)))
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

    /// Returns what the file has of this token; `nil` if that is nothing. The time that this takes
    /// does not depend on how much of a wrong token is right.
    public func entry(of token: String) throws(BackupError) -> Entry? {
        let digest = PageAccess.digest(token)
        return try list().reduce(nil) { found, entry in
            PageAccess.isSame(digest, entry.digest) ? entry : found
        }
    }

    /// Whether a text can be the name of a token.
    public static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.areLettersDigits(or: "-_.")
    }

    /// Replaces the file if `body` returns true, while no other process does.
    private func change(_ body: (inout [Entry]) -> Bool) throws(BackupError) -> Bool {
        let problem = (path, "another process is changing it")
        return try PageAccess.locked(by: "\(path).lock", or: problem) { () throws(BackupError) in
            var entries = try list()
            guard body(&entries) else { return false }
            let lines = entries.map { entry in
                let jobs = entry.jobs.isEmpty ? "" : " \(entry.jobs.joined(separator: ","))"
                return "\(entry.digest) \(entry.madeAt) \(entry.name)\(jobs)\n"
            }
            let text = lines.joined()
            guard text.utf8.count <= BearerTokens.largestFile else {
                throw .unusable(
                    path: path,
                    problem: "it would have \(text.utf8.count) bytes, and at most "
                        + "\(BearerTokens.largestFile) are read; remove a token, or name fewer jobs"
                )
            }
            try DurableFile.replace(path, by: text)
            if let formerPath, unlink(formerPath) != 0, errno != ENOENT {
                throw .file(path: formerPath, errno: errno)
            }
            return true
        }
    }
}

/// Bounds the requests of each token.
package struct TokenRate {
    /// The most requests of a token in a minute, which begins with its first one.
    private let most: Int

    private struct Minute {
        var end: Duration
        var count = 0
    }

    private let clock: SystemClock
    private var minutes: [String: Minute] = [:]

    package init(most: Int, _ clock: SystemClock) { (self.most, self.clock) = (most, clock) }

    /// Counts a request; returns the seconds until one is taken again, or `nil` if this one is.
    package mutating func wait(of name: String) -> Int64? {
        let now = clock.elapsed
        minutes = minutes.filter { $0.value.end > now }
        var minute = minutes[name] ?? Minute(end: now + .seconds(60))
        minute.count += 1
        minutes[name] = minute
        return minute.count > most ? (minute.end - now).components.seconds + 1 : nil
    }

    /// Takes back the count of a request that there was no room for.
    package mutating func giveBack(_ name: String) { minutes[name]?.count -= 1 }
}
