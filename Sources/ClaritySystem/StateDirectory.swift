@preconcurrency import Glibc

/// The folder that holds everything the program remembers, open to its owner alone.
public struct StateDirectory: Hashable, Sendable {
    public let path: String

    /// Makes the folder, with all above it, if need be.
    ///
    /// - Throws: `StateDirectoryError` when it cannot be made or entered, or belongs to somebody
    ///   else or is open to others: what others may write could be replaced, what they may read
    ///   would leak.
    public init(path: String) throws(StateDirectoryError) {
        self.path = path
        try StateDirectory.make(path)
        var status = stat()
        guard stat(path, &status) == 0 else { throw StateDirectoryError(path: path, errno: errno) }
        guard status.st_uid == geteuid() else {
            throw StateDirectoryError(path: path, problem: "it belongs to another user")
        }
        if status.st_mode & 0o077 != 0, chmod(path, 0o700) != 0 {
            throw StateDirectoryError(path: path, errno: errno)
        }
    }

    /// Makes a folder in it, if need be, and returns its path.
    ///
    /// - Throws: `StateDirectoryError` when it cannot be made or entered.
    public func makeFolder(_ name: String) throws(StateDirectoryError) -> String {
        let folder = "\(path)/\(name)"
        try StateDirectory.demandNoLink(folder)
        try StateDirectory.make(folder)
        // Asked again: what is made in it would go to where a link leads.
        try StateDirectory.demandNoLink(folder)
        return folder
    }

    /// The file whose existence tells a scheduler, which cannot open the health data, that somebody has
    /// logged in since a job found nobody.
    public static func loginMark(in path: String) -> String { "\(path)/login" }

    /// Makes the mark of a login. To be called before the login is committed and within its
    /// transaction: a crash in between leaves a mark too many, which the next job removes. It is on
    /// the disk when this returns, since a login without its mark would leave runs waiting.
    public static func markLogin(in path: String) throws(StateDirectoryError) {
        let file = open(
            loginMark(in: path), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard file >= 0 else { throw StateDirectoryError(path: path, errno: errno) }
        // What watches it hears of a file that a writer has closed.
        close(file)
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw StateDirectoryError(path: path, errno: errno) }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw StateDirectoryError(path: path, errno: errno) }
    }

    /// Removes the mark of a login, if there is one.
    public static func unmarkLogin(in path: String) throws(StateDirectoryError) {
        guard unlink(loginMark(in: path)) != 0, errno != ENOENT else { return }
        throw StateDirectoryError(path: path, errno: errno)
    }

    /// Whether there is the mark of a login.
    public static func hasLoginMark(in path: String) -> Bool {
        access(loginMark(in: path), F_OK) == 0
    }

    private static func demandNoLink(_ path: String) throws(StateDirectoryError) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return }
        throw StateDirectoryError(path: path, problem: "it is a symbolic link")
    }

    /// The right to use what is in it, for as long as the result lives: a restore waits for its end.
    ///
    /// - Throws: `StateDirectoryError` while its files are being put back to an earlier state, and
    ///   when that was cut short.
    public func share() throws(StateDirectoryError) -> AdvisoryLock {
        let (lock, code) = try StateDirectory.lock(path, makesFile: true)
        guard let lock else { throw StateDirectoryError(path: path, errno: code) }
        return lock
    }

    /// The right to put its files back to an earlier state, for as long as the result lives.
    ///
    /// - Returns: `nil` when others use them for longer than `patience`.
    public func alone(patience: Duration) throws(StateDirectoryError) -> AdvisoryLock? {
        do throws(AdvisoryLock.Fault) {
            return try AdvisoryLock.take(
                "\(path)/\(StateDirectory.lockName)", LOCK_EX, patience: patience, makesFile: true)
        } catch {
            throw StateDirectoryError(path: path, errno: error.errno)
        }
    }

    /// The same as `share` for who only reads; `nil` where there is no such folder, or none that can be read,
    /// which the reading itself will say.
    public static func shareIfThere(_ path: String) throws(StateDirectoryError) -> AdvisoryLock? {
        try lock(path, makesFile: false).lock
    }

    /// A share of the lock, or why the system gives none.
    private static func lock(
        _ path: String, makesFile: Bool
    ) throws(StateDirectoryError) -> (lock: AdvisoryLock?, code: Int32) {
        let lock: AdvisoryLock?
        do throws(AdvisoryLock.Fault) {
            lock = try AdvisoryLock.take(
                "\(path)/\(lockName)", LOCK_SH, patience: .seconds(2), makesFile: makesFile)
        } catch {
            try demandWhole(path)
            return (nil, error.errno)
        }
        guard let lock else {
            throw StateDirectoryError(
                path: path, problem: "it is being restored; try again when that has ended")
        }
        try demandWhole(path)
        return (lock, 0)
    }

    /// Makes sure that no restore was cut short in the middle.
    ///
    /// - Throws: `StateDirectoryError` that says how to finish it.
    public static func demandWhole(_ path: String) throws(StateDirectoryError) {
        guard access("\(path)/\(restoringName)", F_OK) == 0 else { return }
        throw StateDirectoryError(
            path: path,
            problem: "a restore was cut short; finish it with `clarity-jobs restore`")
    }

    /// The folder in it that holds what a restore has yet to put in place.
    public static let restoringName = "restoring"

    /// The file in it whose lock says who uses it: not the folder itself, whose lock is the session's.
    private static let lockName = "state.lock"

    private static func make(_ path: String) throws(StateDirectoryError) {
        var partial = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            partial += "/\(part)"
            if mkdir(partial, 0o700) != 0, errno != EEXIST {
                throw StateDirectoryError(path: path, errno: errno)
            }
        }
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

/// Why the state directory cannot be used.
public struct StateDirectoryError: Error, Hashable, Sendable {
    public var path: String
    public var problem: String
    /// Whether the disk is full or fails.
    public var isDisk = false
    /// Whether it is a file in the directory, and not the directory, that cannot be used.
    private var isFile = false

    /// Says what is wrong with the folder.
    public init(path: String, problem: String) {
        self.path = path
        self.problem = problem
    }

    /// Says what is wrong with a file in the folder.
    public init(file path: String, problem: String) {
        self.init(path: path, problem: problem)
        isFile = true
    }

    /// Says what the system said.
    public init(path: String, errno code: Int32) {
        self.init(path: path, problem: String(cString: strerror(code)).lowercased())
        isDisk = [ENOSPC, EIO, EDQUOT].contains(code)
    }
}

extension StateDirectoryError: CustomStringConvertible {
    public var description: String {
        "cannot use \(isFile ? "" : "state directory ")`\(path)`: \(problem)"
    }
}
