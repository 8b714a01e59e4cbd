import ClarityHost
import ClarityScheduler
import Platform
@preconcurrency import Glibc
import SwiftOverlayShims

// Where the state is, and how commands get at it.

extension Composition {
    /// Returns the path of the state directory, whether it exists or not.
    func statePath(_ file: JobFile) -> String {
        if let given = arguments["state"] { return absolute(given) }
        if let folder = environment["STATE_DIRECTORY"]?.split(separator: ":").first {
            return String(folder)
        }
        if let folder = file.stateDirectory { return folder }
        let folder = environment["XDG_STATE_HOME"].flatMap { $0.isEmpty ? nil : $0 }
        let own = "\(folder ?? "\(home)/.local/state")/clarity-jobs"
        return isOfService && access(own, F_OK) != 0 ? Composition.serviceStatePath : own
    }

    /// The job file and the state directory of a service with a user of its own (docs/install.md).
    static let serviceJobFilePath = "/etc/clarity-jobs/jobs.yaml"
    static let serviceStatePath = "/var/lib/clarity-jobs"

    /// Whether the job file is that of an installed service.
    ///
    /// The unit names the service's state directory by a variable, which a person's command lacks.
    var isOfService: Bool {
        foundJobFilePath == Composition.serviceJobFilePath
            && access(Composition.serviceStatePath, F_OK) == 0
    }

    /// Whether this process belongs to the user of an installed service, who owns its state
    /// directory.
    var isUserOfService: Bool {
        var status = stat()
        return stat(Composition.serviceStatePath, &status) == 0 && status.st_uid == geteuid()
            && geteuid() != 0
    }

    /// Returns the folder of an account's health data, whether it exists or not.
    func dataPath(of account: AccountID, _ file: JobFile) -> String {
        StateDirectory.dataFolder(ofAccount: account.rawValue, in: statePath(file))
    }

    /// Returns the folder with the limits of the backend, which hold for all accounts together.
    func limitsFolder(_ file: JobFile) -> String { "\(statePath(file))/backend" }

    /// Returns the folder of the health data that this command works with: that of the account of
    /// `--account`, or else the state directory.
    ///
    /// - Throws: `CommandFailure` if the job file has accounts and none is named.
    func dataPath(_ file: JobFile) throws(CommandFailure) -> String {
        if let account = file.account { return dataPath(of: account.id, file) }
        guard let accounts = file.accounts else { return statePath(file) }
        throw CommandFailure(
            .usage,
            "the job file has \(counted(accounts.count, "accounts")), and each has its own data",
            "help: name one with --account ID; `clarity-jobs accounts list` lists them")
    }

    /// Returns the folder whose databases are backed up together: that of the account of
    /// `--account`, or else the state directory.
    func backedUpPath(_ file: JobFile) -> String {
        file.account.map { dataPath(of: $0.id, file) } ?? statePath(file)
    }

    /// Returns the same folder for a command that writes into it.
    func ownBackups(_ file: JobFile) throws(CommandFailure) -> String {
        _ = try ownState(file)
        return backedUpPath(file)
    }

    /// Returns the folder of the health data for a command that writes into it, as `ownState` does.
    func ownData(_ file: JobFile) throws(CommandFailure) -> String {
        _ = try ownState(file)
        return try dataPath(file)
    }

    /// Returns the path of the health data, whether it exists or not.
    func healthPath(_ file: JobFile) throws(CommandFailure) -> String {
        "\(try dataPath(file))/health.db"
    }

    /// Returns the path of the file that a login creates: of any account, if there are accounts.
    func loginMark(_ file: JobFile) -> String {
        file.accounts == nil
            ? StateDirectory.loginMark(in: statePath(file))
            : StateDirectory.accountsSignal(in: statePath(file))
    }

    /// Returns whether a database of the state directory once had content and has none now.
    func isLost(_ path: String) -> Bool { DatabaseFile(path).loss != nil }

    /// Opens the history for reading, and creates nothing. Root may read another user's.
    func history(_ file: JobFile) throws(CommandFailure) -> RunHistory {
        let path = geteuid() == 0 ? statePath(file) : try ownState(file)
        do throws(RunStoreError) {
            var history = try RunHistory(of: file, inDirectory: path, environment: environment)
            // Who looks after the accounts sees on the pages how runs ended, and not what a wearer's
            // program printed.
            history.hidesOutput = pagesViewer == "caretaker"
            return history
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Opens the store for writing, and creates it and its folder if they do not exist.
    func store(_ file: JobFile) throws(CommandFailure) -> SharedHistory {
        _ = try ownState(file)
        return try askingStore { () throws(RunStoreError) in
            try sharedHistory(file)
        }
    }

    /// The same for a user who owns the state directory.
    ///
    /// - Parameter pulse: of a loop.
    func sharedHistory(
        _ file: JobFile, pulse: LoopPulse? = nil
    ) throws(RunStoreError) -> SharedHistory {
        let directory: StateDirectory
        do throws(StateDirectoryError) {
            directory = try StateDirectory(path: statePath(file))
        } catch {
            throw RunStoreError(error)
        }
        return try SharedHistory(of: file, in: directory, environment: environment, pulse: pulse)
    }

    /// Checks that the state is in files, for a command that works on files alone.
    ///
    /// - Parameter help: what to do where it is not.
    func requireFiles(_ file: JobFile, help: String) throws(CommandFailure) {
        guard let server = file.server else { return }
        throw CommandFailure(
            .configuration,
            "`\(arguments.path.joined(separator: " "))` works on files, and the state is in "
                + "`\(server)`", "help: \(help)")
    }
}
