import Platform
import HealthModel
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
