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
        try StateDirectory.make(folder)
        return folder
    }

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

    /// Says what is wrong with the folder.
    public init(path: String, problem: String) {
        self.path = path
        self.problem = problem
    }

    /// Says what the system said.
    public init(path: String, errno code: Int32) {
        self.init(path: path, problem: String(cString: strerror(code)).lowercased())
        isDisk = [ENOSPC, EIO, EDQUOT].contains(code)
    }
}

extension StateDirectoryError: CustomStringConvertible {
    public var description: String { "cannot use state directory `\(path)`: \(problem)" }
}
