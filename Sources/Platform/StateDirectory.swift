@preconcurrency import Glibc

/// The folder that holds everything the program remembers, accessible only to its owner.
///
/// Three locks (flock(2)) keep processes apart. All processes that use the history share
/// `state.lock`, and all that use the health data share `health.lock`; a restore holds both alone.
/// A process that renews the session locks the folder itself.
public struct StateDirectory: Hashable, Sendable {
    public let path: String

    /// Creates the folder and its parents if they do not exist, and gives it mode 0700.
    ///
    /// Files that others could write could be replaced, and files that they could read would leak.
    ///
    /// - Throws: `StateDirectoryError` if the folder cannot be created or entered, belongs to
    ///   somebody else, or is open to others and its mode cannot be changed.
    public init(path: String) throws(StateDirectoryError) {
        self.path = path
        try StateDirectory.make(path)
        do throws(StateDirectoryError) {
            // Asked last: a removal keeps its receipt before it removes the folder, so whichever of
            // the two comes first, the folder does not stay.
            try StateDirectory.requireNotRemoved(path)
        } catch {
            rmdir(path)
            throw error
        }
        var status = stat()
        guard stat(path, &status) == 0 else { throw StateDirectoryError(path: path, errno: errno) }
        guard status.st_uid == geteuid() else {
            throw StateDirectoryError(path: path, problem: "it belongs to another user")
        }
        if status.st_mode & 0o077 != 0, chmod(path, 0o700) != 0 {
            throw StateDirectoryError(path: path, errno: errno)
        }
    }

    /// Returns the owner of a state directory if that is another user than this one; `nil` if it
    /// does not exist yet.
    ///
    /// If this user may not look at the directory, its owner counts as that of the folder that keeps
    /// this user out.
    public static func otherOwner(of path: String) -> UInt32? {
        var status = stat()
        var part = path[...]
        while stat(String(part), &status) != 0 {
            guard errno == EACCES, let slash = part.lastIndex(of: "/"), slash != part.startIndex
            else { return nil }
            part = part[..<slash]
        }
        return status.st_uid == geteuid() ? nil : status.st_uid
    }

    /// Creates a folder in the state directory if it does not exist, and returns its path.
    ///
    /// - Throws: `StateDirectoryError` if it cannot be created or entered, or is a symbolic link.
    public func makeFolder(_ name: String) throws(StateDirectoryError) -> String {
        let folder = "\(path)/\(name)"
        try StateDirectory.requireNoLink(folder)
        try StateDirectory.make(folder)
        // Checked again, because files created in a linked folder would go to the link's target.
        try StateDirectory.requireNoLink(folder)
        return folder
    }

    /// Returns the folder with an account's health data, which is a state directory without a
    /// history.
    public static func dataFolder(ofAccount account: String, in path: String) -> String {
        "\(path)/\(accountsName)/\(account)"
    }

    /// Returns the path of the file that changes when any account logs in.
    public static func accountsSignal(in path: String) -> String {
        "\(path)/\(accountsName)/.login"
    }

    /// The folder with the data of each account.
    public static let accountsName = "accounts"

    /// Returns the path of the login mark.
    ///
    /// The mark tells a scheduler, which cannot open the health data, that somebody has logged in
    /// since a job found nobody logged in.
    public static func loginMark(in path: String) -> String { "\(path)/login" }

    /// Creates the login mark.
    ///
    /// Call it within the transaction of the login, before the commit. A crash in between leaves a
    /// mark without a login, which the next job removes. The mark is synced when this returns,
    /// because a login without its mark would leave runs waiting.
    public static func markLogin(in path: String) throws(StateDirectoryError) {
        let file = open(
            loginMark(in: path), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard file >= 0 else { throw StateDirectoryError(path: path, errno: errno) }
        // Watchers are notified when a writer closes the file.
        close(file)
        let parts = path.split(separator: "/")
        if parts.count > 1, parts[parts.count - 2] == accountsName {
            // A loop for many accounts watches one file. If this fails, it looks again in time.
            let signal = open(
                "\(path)/../.login", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600
            )
            if signal >= 0 { close(signal) }
        }
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw StateDirectoryError(path: path, errno: errno) }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw StateDirectoryError(path: path, errno: errno) }
    }

    /// Removes the login mark if it exists.
    public static func unmarkLogin(in path: String) throws(StateDirectoryError) {
        guard unlink(loginMark(in: path)) != 0, errno != ENOENT else { return }
        throw StateDirectoryError(path: path, errno: errno)
    }

    /// Returns whether the login mark exists.
    public static func hasLoginMark(in path: String) -> Bool {
        access(loginMark(in: path), F_OK) == 0
    }

    private static func requireNoLink(_ path: String) throws(StateDirectoryError) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return }
        throw StateDirectoryError(path: path, problem: "it is a symbolic link")
    }

    /// Takes a shared lock on the state directory's files; a restore waits until it is released.
    ///
    /// - Throws: `StateDirectoryError` if a restore is running or was interrupted.
    public func share() throws(StateDirectoryError) -> FileLock {
        let (lock, code) = try StateDirectory.lock(path, makesFile: true)
        guard let lock else { throw StateDirectoryError(path: path, errno: code) }
        return lock
    }

    /// Takes the exclusive lock that a restore needs.
    ///
    /// - Returns: `nil` if others use the files for longer than `patience`.
    public func alone(patience: Duration) throws(StateDirectoryError) -> FileLock? {
        do throws(SystemError) {
            return try FileLock.take(
                "\(path)/\(StateDirectory.lockName)", LOCK_EX, patience: patience, makesFile: true)
        } catch {
            throw StateDirectoryError(path: path, errno: error.code)
        }
    }

    /// Takes the lock of `share` for a command that only reads.
    ///
    /// - Returns: `nil` if the lock file does not exist or cannot be opened. The read itself then
    ///   reports the error.
    public static func shareIfThere(_ path: String) throws(StateDirectoryError) -> FileLock? {
        try lock(path, makesFile: false).lock
    }

    /// Returns a shared lock, or the `errno` with which the system refused it.
    private static func lock(
        _ path: String, makesFile: Bool
    ) throws(StateDirectoryError) -> (lock: FileLock?, code: Int32) {
        let lock: FileLock?
        do throws(SystemError) {
            lock = try FileLock.take(
                "\(path)/\(lockName)", LOCK_SH, patience: .seconds(2), makesFile: makesFile)
        } catch {
            try requireWhole(path)
            return (nil, error.code)
        }
        guard let lock else {
            throw StateDirectoryError(
                path: path, problem: "it is being restored; try again when that has ended")
        }
        try requireWhole(path)
        return (lock, 0)
    }

    /// Checks that no restore was interrupted.
    ///
    /// - Throws: `StateDirectoryError` that says how to finish the restore.
    public static func requireWhole(_ path: String) throws(StateDirectoryError) {
        guard access("\(path)/\(restoringName)", F_OK) == 0 else { return }
        throw StateDirectoryError(
            path: path,
            problem: "a restore was cut short; finish it with `clarity-jobs restore`")
    }

    /// The folder with the files that a restore has not yet put in place.
    public static let restoringName = "restoring"

    /// The file that users of the directory lock. They do not lock the folder itself: the session
    /// does.
    private static let lockName = "state.lock"

    /// Creates the missing folders of a path with mode 0700; returns `false`, with the reason in
    /// `errno`, if the system refuses.
    package static func makeFolders(_ path: String) -> Bool {
        var partial = path.hasPrefix("/") ? "" : "."
        return path.split(separator: "/").allSatisfy { part in
            partial += "/\(part)"
            return mkdir(partial, 0o700) == 0 || errno == EEXIST
        }
    }

    private static func make(_ path: String) throws(StateDirectoryError) {
        guard makeFolders(path) else { throw StateDirectoryError(path: path, errno: errno) }
        var status = stat()
        guard stat(path, &status) == 0 else { throw StateDirectoryError(path: path, errno: errno) }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw StateDirectoryError(path: path, problem: "it is no folder")
        }
        guard access(path, R_OK | W_OK | X_OK) == 0 else {
            throw StateDirectoryError(path: path, errno: errno)
        }
    }
}

/// A reason why the state directory cannot be used.
public struct StateDirectoryError: Error, Hashable, Sendable {
    public var path: String
    public var problem: String
    /// Whether the disk is full or fails.
    public var isDisk = false
    /// Whether a file in the directory cannot be used, rather than the directory itself.
    private var isFile = false

    /// Creates an error about the directory.
    public init(path: String, problem: String) {
        self.path = path
        self.problem = problem
    }

    /// Creates an error about a file in the directory.
    public init(file path: String, problem: String) {
        self.init(path: path, problem: problem)
        isFile = true
    }

    /// Creates an error from the system's error number.
    public init(path: String, errno code: Int32) {
        self.init(path: path, problem: SystemError(code: code).reason)
        isDisk = SystemError(code: code).isDisk
    }
}

extension StateDirectoryError: CustomStringConvertible {
    public var description: String {
        "cannot use \(isFile ? "" : "state directory ")`\(path)`: \(problem)"
    }
}

// Accounts whose data was removed. A receipt of each stays, and while it is there nothing makes the
// account's folder again: neither an attempt that began before, nor another person's account with
// the same id.
extension StateDirectory {
    /// Returns the path of the receipt of an account whose data was removed.
    public static func receipt(ofAccount account: String, in path: String) -> String {
        "\(receipts(in: path))/\(account).json"
    }

    /// Returns the folder with the receipts of removed accounts.
    ///
    /// No id of an account begins with a dot.
    public static func receipts(in path: String) -> String { "\(path)/\(accountsName)/.removed" }

    /// Returns the accounts that have a folder, and those that have a receipt.
    ///
    /// - Throws: `StateDirectoryError` if a folder cannot be read; one that is missing is empty.
    public static func accounts(
        in path: String
    ) throws(StateDirectoryError) -> (kept: Set<String>, removed: Set<String>) {
        let kept = try names(in: "\(path)/\(accountsName)").filter { !$0.hasPrefix(".") }
        let removed = try names(in: receipts(in: path)).filter { $0.hasSuffix(".json") }
        return (Set(kept), Set(removed.map { String($0.dropLast(".json".count)) }))
    }

    private static func names(in folder: String) throws(StateDirectoryError) -> [String] {
        do throws(WholeFile.Fault) {
            return try WholeFile.names(in: folder)
        } catch .refused(ENOENT) {
            return []
        } catch .refused(let code) {
            throw StateDirectoryError(path: folder, errno: code)
        } catch {
            throw StateDirectoryError(path: folder, problem: "it cannot be read")
        }
    }

    /// Checks that a folder is not that of an account whose data was removed.
    ///
    /// - Throws: `StateDirectoryError` if it is.
    public static func requireNotRemoved(_ path: String) throws(StateDirectoryError) {
        let parts = path.split(separator: "/")
        guard parts.count > 2, parts[parts.count - 2] == accountsName, let account = parts.last
        else { return }
        let state = path.dropLast(accountsName.count + account.count + 2)
        let receipt = receipt(ofAccount: String(account), in: String(state))
        guard access(receipt, F_OK) == 0 else { return }
        throw StateDirectoryError(
            path: path,
            problem:
                "account `\(account)` was removed with its data, as `\(receipt)` says; an id is "
                + "not used again while its receipt is there")
    }
}
