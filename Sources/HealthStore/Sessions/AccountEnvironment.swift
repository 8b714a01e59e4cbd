import Platform
public import HealthModel
public import ClarityScheduler
@preconcurrency import Glibc

/// The environment of a process that works for one account: with that account's key and password,
/// and nothing that opens another's data.
///
/// An account whose job file names a variable has the key in it. Otherwise its key is derived from
/// the one that a person or a service manager gives (`MasterKeySource`). This key wraps a random one
/// of the account's own. Without either, the account has a `keys/master.key` of its own in its folder,
/// and the process finds it there.
public struct AccountEnvironment: Sendable {
    /// The variable with the password for logins without a person.
    public static let password = "CLARITY_JOBS_ACCOUNT_PASSWORD"
    /// The variable that says that the key in the environment is an account's, and wraps its own.
    public static let wraps = MasterKeySource.wrapsName

    private let environment: [String: String]
    /// The variables with the keys and the secrets of notices of any account.
    private let secretVariables: Set<String>

    /// Creates environments from that of this process.
    ///
    /// - Parameter secretVariables: the variables that accounts name for keys and secrets.
    public init(_ environment: [String: String], secretVariables: Set<String>) {
        self.environment = environment
        self.secretVariables = secretVariables
    }

    /// Returns the environment for an account.
    ///
    /// - Parameters:
    ///   - keyVariable: the variable that the account's settings name for its key.
    ///   - secrets: the names of the variables or credentials that the process needs besides.
    /// - Throws: `MasterKeyError` if the given key, or the account's own, cannot be used.
    public func variables(
        for account: AccountID, keyVariable: String?, secrets: [String] = []
    ) throws(MasterKeyError) -> [String: String] {
        var own = environment.filter { name, _ in
            !secretVariables.contains(name) && !AccountEnvironment.ofKeys.contains(name)
        }
        for name in secrets {
            own[name] =
                environment[name]
                ?? credential(name, upTo: 4096).flatMap { Secret(firstLineOf: $0.utf8)?.reveal() }
        }
        own[AccountEnvironment.password] = credential(
            "clarity-jobs.password.\(account)", upTo: SessionPassword.longest + 2)
        if let keyVariable {
            own[keyVariable] = try MasterKeySource.value(of: keyVariable, environment)
            own[AccountEnvironment.pointer] = keyVariable
            own[AccountEnvironment.wraps] = "1"
        } else if let given = try MasterKeySource(stateDirectory: "", environment: environment)
            .findGiven()
        {
            own[AccountEnvironment.key] = hexEncoded(try given.key.key(of: account).bytes)
            own[AccountEnvironment.wraps] = "1"
        }
        return own
    }

    private static let key = "CLARITY_JOBS_KEY"
    private static let pointer = MasterKeySource.pointer
    /// The variables that lead to keys.
    private static let ofKeys: Set<String> = [
        key, pointer, "CREDENTIALS_DIRECTORY", password, wraps,
    ]

    /// Returns a credential that the service manager gives; `nil` if there is no such file, others
    /// may read it, or it is not text.
    private func credential(_ name: String, upTo longest: Int) -> String? {
        guard let folder = environment["CREDENTIALS_DIRECTORY"], !folder.isEmpty,
            !name.contains("/")
        else { return nil }
        let file = open("\(folder)/\(name)", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_mode & 0o007 == 0
        else { return nil }
        var content = [UInt8](repeating: 0, count: longest + 1)
        let count = read(file, &content, content.count)
        guard (1...longest).contains(count), !content[..<count].contains(0) else { return nil }
        return String(validating: content[..<count], as: UTF8.self)
    }
}

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
