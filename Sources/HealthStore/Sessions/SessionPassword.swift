public import HealthModel
import Platform
@preconcurrency import Glibc

/// The password for logins without a person: a credential from the service manager,
/// `$CREDENTIALS_DIRECTORY/clarity-jobs.password`. A worker of an account gets that account's in a
/// variable (`AccountEnvironment`).
public enum SessionPassword {
    /// The most bytes in a password: 1024.
    public static let longest = 1024

    /// Reads the password, without the newline at its end, or `nil` if there is no such file.
    ///
    /// - Parameter environment: the environment of the process; only these two variables matter.
    /// - Throws: `SessionPasswordError`, also for a file that others may read, as with the master
    ///   key.
    public static func load(
        _ environment: [String: String]
    ) throws(SessionPasswordError) -> Secret? {
        if let text = environment[AccountEnvironment.password] {
            guard let password = Secret(passwordLine: Array(text.utf8)) else {
                throw .content(path: "clarity-jobs.password.ACCOUNT")
            }
            return password
        }
        guard let directory = environment["CREDENTIALS_DIRECTORY"], !directory.isEmpty else {
            return nil
        }
        let path = "\(directory)/clarity-jobs.password"
        // O_NONBLOCK, so that a pipe in this place does not block until it has a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .file(path: path, errno: errno)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .file(path: path, errno: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .noFile(path: path) }
        // A service manager may let its group read a credential, but never others.
        guard status.st_mode & 0o007 == 0 else {
            throw .openToOthers(path: path, mode: status.st_mode & 0o777)
        }
        // One byte more than the maximum, and a newline of two bytes.
        var content = [UInt8](repeating: 0, count: longest + 3)
        let count = read(descriptor, &content, content.count)
        guard count >= 0 else { throw .file(path: path, errno: errno) }
        guard let password = Secret(passwordLine: content[..<count]) else {
            throw .content(path: path)
        }
        return password
    }
}

extension Secret {
    /// Parses a password as typed or stored in a file: one line of 1 to 1024 bytes in UTF-8, with
    /// or without its newline.
    ///
    /// Returns `nil` for anything else.
    public init?(passwordLine bytes: some BidirectionalCollection<UInt8>) {
        var line = Array(bytes)
        if line.last == UInt8(ascii: "\n") {
            line.removeLast()
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
        }
        guard (1...SessionPassword.longest).contains(line.count),
            !line.contains(where: { $0 == 0 || $0 == UInt8(ascii: "\n") }),
            let text = String(validating: line, as: UTF8.self)
        else { return nil }
        self.init(text)
    }
}

/// Why an existing password cannot be used.
public enum SessionPasswordError: Error, Hashable, Sendable {
    /// Others may read the file.
    case openToOthers(path: String, mode: UInt32)
    /// The file is not a regular file.
    case noFile(path: String)
    /// The content is empty, too long, has several lines, or is not text.
    case content(path: String)
    /// The file cannot be read.
    case file(path: String, errno: Int32)
}

extension SessionPasswordError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .openToOthers(let path, let mode):
            "the password `\(path)` is open to others (mode 0\(String(mode, radix: 8))); make it "
                + "0600"
        case .noFile(let path): "the password `\(path)` is no ordinary file"
        case .content(let path):
            "the password `\(path)` is not one line of 1 to \(SessionPassword.longest) bytes"
        case .file(let path, let code):
            "cannot read the password `\(path)`: \(SystemError(code: code).reason)"
        }
    }
}
