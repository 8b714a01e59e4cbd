import CLinux
import ClarityHost
import HealthStore
import ClarityScheduler
import Platform
import Database
import Synchronization

// How the commands read and change the health data.

extension Composition {
    /// Opens the store of health data; `nil` if there is none, because a query creates nothing.
    ///
    /// - Parameter program: the name under which the audit log records what is done.
    func healthStore(
        _ file: JobFile, as program: String
    ) throws(CommandFailure) -> HealthStore? {
        let state = try ownData(file)
        let environment = try keyEnvironment(file)
        guard HealthStore.exists(in: state, environment: environment) else { return nil }
        do throws(HealthStoreError) {
            return try HealthStore(
                stateDirectory: state, environment: environment,
                actor: AuditActor(program: program), clock: SystemClock())
        } catch .lostKey(let path) {
            var failure = CommandFailure(HealthStoreError.lostKey(path: path))
            failure.lines.append(
                "help: a service that has the key by `LoadCredential=` keeps it to itself; as root: "
                    + commandWithCredential(file))
            throw failure
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Returns the environment in which the master key is found, after closing this process's memory
    /// to others.
    func keyEnvironment(_ file: JobFile) throws(CommandFailure) -> [String: String] {
        if clinux_keep_memory_private() != 0 {
            Console.fault("clarity-jobs: cannot close this process's memory to others")
        }
        return try keyedEnvironment(file)
    }

    /// Returns the environment in which a program of this package finds the master key.
    func keyedEnvironment(_ file: JobFile) throws(CommandFailure) -> [String: String] {
        if let account = file.account { return try accountEnvironment(of: account, file) }
        var environment = environment(of: file)
        if let variable = try keyVariable(file) { environment[Composition.keyPointer] = variable }
        return environment
    }
}

// What a process that works for one account gets.

extension Composition {
    /// Returns the environment in which the key of one account is found, and no other.
    func accountEnvironment(
        of account: AccountDeclaration, _ file: JobFile
    ) throws(CommandFailure) -> [String: String] {
        let names = try readingSections { () throws(Failure) in
            try KeyNames(account.sections)
        }
        do throws(MasterKeyError) {
            return try AccountEnvironment(environment, secretVariables: file.secretVariables)
                .variables(
                    for: account.id, keyVariable: names.key, secrets: names.secrets
                ).merging(ServerAccount.variables(for: account.id, at: file.server)) { $1 }
        } catch {
            throw CommandFailure(.configuration, error.description)
        }
    }

    /// Returns this process's environment, with the server that has the health data of a job file
    /// without accounts.
    func environment(of file: JobFile) -> [String: String] {
        environment.merging(ServerAccount.variables(for: nil, at: file.server)) { $1 }
    }

    /// Returns the variables with secrets that an order does not need. A program that the worker
    /// starts would find them.
    func needlessSecrets(
        of file: JobFile, for order: AttemptOrder
    ) throws(Failure) -> Set<String> {
        let names = try KeyNames(order)
        return file.secretVariables.subtracting(names.secrets + [names.key].compactMap(\.self))
    }

    /// Returns what gives each worker its environment: this process's without the secrets of other
    /// jobs, or that of the account for which it works.
    func workerEnvironment(
        _ inForce: @escaping @Sendable () -> JobFile
    ) -> ProcessWorker.Environment {
        let composition = self
        return { order throws(Failure) in
            let file = inForce()
            guard let account = order.job.account else {
                let needless = try composition.needlessSecrets(of: file, for: order)
                return composition.environment(of: file).filter { !needless.contains($0.key) }
            }
            let names = try KeyNames(order)
            do throws(MasterKeyError) {
                return try AccountEnvironment(
                    composition.environment, secretVariables: file.secretVariables
                ).variables(
                    for: account, keyVariable: names.key, secrets: names.secrets
                ).merging(ServerAccount.variables(for: account, at: file.server)) { $1 }
            } catch {
                throw Failure(.configuration, error.description)
            }
        }
    }
}

/// The names under which a worker finds its secrets.
private struct KeyNames {
    var key: String?
    var secrets: [String]

    init(_ sections: SectionValues) throws(Failure) {
        key = try sections.key.variable
        secrets = try sections.targets.compactMap(\.secretName)
    }

    init(_ order: AttemptOrder) throws(Failure) {
        key = try SectionValues(order.options).key.variable
        secrets = try order.secretNames
    }
}

/// Reads sections of a job file, which has been checked.
func readingSections<Result>(
    _ body: () throws(Failure) -> Result
) throws(CommandFailure) -> Result {
    do throws(Failure) {
        return try body()
    } catch {
        throw CommandFailure(error)
    }
}

/// Runs `body` and turns an error of the health data into a failure of the command.
func usingHealthData<Result>(
    _ body: () throws(HealthStoreError) -> Result
) throws(CommandFailure) -> Result {
    do throws(HealthStoreError) {
        return try body()
    } catch {
        throw CommandFailure(error)
    }
}

/// Runs a backup or restore and turns its error into a failure of the command.
func usingBackups<Result>(_ body: () throws -> Result) throws(CommandFailure) -> Result {
    do {
        return try body()
    } catch {
        throw CommandFailure(ofBackup: error)
    }
}

extension CommandFailure {
    /// If another process holds the store, the status says that a later try may succeed.
    init(_ error: HealthStoreError) {
        self.init(error.failure, isBusy: error.isBusy)
    }

    init(_ failure: Failure, isBusy: Bool = false) {
        self.init(
            isBusy ? .deferred : ExitStatus(of: failure.category), failure.reason.forReport)
    }

    init(ofBackup error: any Error) {
        switch error {
        case let error as HealthStoreError: self.init(error)
        case let error as StateDirectoryError: self.init(HealthStoreError.directory(error))
        case let error as BackupError:
            let status: ExitStatus =
                if case .busy = error { .deferred } else { error.isDisk ? .disk : .configuration }
            self.init(status, error.description)
        case let error as RestoreError:
            let status: ExitStatus =
                switch error {
                case .inUse: .deferred
                case .noBackup: .disk
                case .nothingDamaged, .otherKey, .lostKey, .newer, .older, .newerFile, .otherUser:
                    .configuration
                }
            self.init(status, error.description)
        // The text of an unknown error could contain anything.
        default: self.init(.internalFault, "unexpected error of type `\(type(of: error))`")
        }
    }
}

/// Asks a server which accounts are logged in.
final class ServerLogins: Sendable {
    private let server: ServerAddress
    private let connection = Mutex<ServerConnection?>(nil)

    init(_ server: ServerAddress) { self.server = server }

    /// Returns the names of the accounts; `nil` if the server does not answer.
    func now() -> Set<String>? {
        connection.withLock { connection in
            do throws(DatabaseError) {
                if connection?.hasFailed ?? true {
                    connection = try ServerConnection(server, patience: .seconds(5))
                }
                return try connection.map { connection throws(DatabaseError) in
                    try HealthServer.logins(connection)
                }
            } catch {
                // The decision that follows fails too, and says why.
                return nil
            }
        }
    }
}
