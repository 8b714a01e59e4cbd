import ClarityHost
import ClarityScheduler
import Platform
@preconcurrency import Glibc
import SwiftOverlayShims

// Where the state is, and how commands get at it.

extension Composition {
    /// Returns the path of the state directory, whether it exists or not.
    func statePath(_ file: JobFile) -> String { statePath(named: file.stateDirectory) }

    /// The same for the folder that a job file names.
    func statePath(named folder: String?) -> String {
        if let given = arguments["state"] { return absolute(given) }
        if let folder = environment["STATE_DIRECTORY"]?.split(separator: ":").first {
            return String(folder)
        }
        if let folder { return folder }
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

    /// The path of the job file that `init` writes, whether it exists or not: not that of the folder in
    /// which it is started.
    var setUpJobFilePath: String {
        absolute(
            arguments["config"]
                ?? (isUserOfService ? Composition.serviceJobFilePath : userJobFilePath))
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

extension Composition {
    /// Runs `body` with a new folder for temporary files, which only this user may enter, and removes
    /// it afterwards.
    func withTemporaryFolder<Result>(
        _ purpose: String, _ body: (String) throws(CommandFailure) -> Result
    ) throws(CommandFailure) -> Result {
        var template = Array(
            "\(environment["TMPDIR"] ?? "/tmp")/clarity-jobs-\(purpose).XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            let problem = SystemError().reason
            throw CommandFailure(.disk, "cannot make a temporary folder: \(problem)")
        }
        let folder = String(
            decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let result: Result
        do throws(CommandFailure) {
            result = try body(folder)
        } catch {
            // The first fault is told; what it left lies in a folder for temporary files.
            do throws(BackupError) { try DurableFile.removeFolder(folder) } catch _ {}
            throw error
        }
        do throws(BackupError) {
            try DurableFile.removeFolder(folder)
        } catch {
            throw CommandFailure(.disk, error.description)
        }
        return result
    }
}

// What a command says if only another user can do what it was asked to do.

extension Composition {
    /// Returns the path of the state directory, whether it exists or not, for a command that writes
    /// into it.
    ///
    /// - Throws: `CommandFailure` if the directory belongs to another user. Its help is the command
    ///   that this user runs as the other one. Root is refused too: the owner's service could not
    ///   open root's files.
    func ownState(_ file: JobFile) throws(CommandFailure) -> String {
        let path = statePath(file)
        try requireOwn(path, file)
        return path
    }

    /// Checks, as `ownState` does, that a path in the state directory belongs to this user.
    func requireOwn(_ path: String, _ file: JobFile) throws(CommandFailure) {
        guard let owner = StateDirectory.otherOwner(of: path) else { return }
        let problem = "it belongs to \(Composition.userText(owner))"
        throw CommandFailure(
            .unreachable, StateDirectoryError(path: path, problem: problem).description,
            "help: \(Composition.prefix(for: owner)) \(commandLine(file))")
    }

    /// Checks that this user can read the job file, if it is that of a service.
    ///
    /// - Throws: `CommandFailure` if only the user of the service can. Its help is the command that
    ///   this user runs as the other one.
    func requireReadable(_ path: String) throws(CommandFailure) {
        guard path == Composition.serviceJobFilePath, access(path, R_OK) != 0, errno == EACCES,
            let owner = StateDirectory.otherOwner(of: Composition.serviceStatePath)
        else { return }
        let words = (["clarity-jobs"] + arguments.words).map(shellQuoted).joined(separator: " ")
        throw CommandFailure(
            .unreachable,
            "cannot read job file `\(path)`: it belongs to \(Composition.userText(owner))",
            "help: \(Composition.prefix(for: owner)) \(words)")
    }

    /// Returns the failure for a faulty job file. If it, or a file that it names, belongs to another
    /// user, the help is the command that this user runs as the other one.
    func failure(_ faults: JobFileFaults) -> CommandFailure {
        guard let writer = faults.writer else {
            return CommandFailure(.faultyInput, text: faults.description)
        }
        var failure = CommandFailure(.configuration, text: faults.description)
        if case .owner(let owner) = writer {
            failure.lines.append("help: \(Composition.prefix(for: owner)) \(commandLine(nil))")
        }
        return failure
    }

    private static func userText(_ user: uid_t) -> String {
        userName(user).map { "the user `\($0)`" } ?? "another user"
    }

    /// Returns what goes before a command that another user is to run. Root need not have sudo(8),
    /// and runuser(1) takes no number.
    private static func prefix(for user: uid_t) -> String {
        let name = userName(user)
        return name.flatMap { geteuid() == 0 ? "runuser -u \($0) --" : nil }
            ?? "sudo -u \(name ?? "'#\(user)'")"
    }

    /// Returns the command with which root runs this one with the key that a service gets as a
    /// credential, and which is in no place that a person's command looks at.
    func commandWithCredential(_ file: JobFile) -> String {
        let user = Composition.userName(geteuid()) ?? "\(geteuid())"
        return "systemd-run --quiet --pipe --wait --same-dir --uid=\(user) "
            + "-p LoadCredential=clarity-jobs.key:/etc/clarity-jobs/key \(commandLine(file))"
    }

    /// Returns this command as another user has to type it: with the job file and, if that could be
    /// read, the state directory that this user's variables or folders name.
    private func commandLine(_ file: JobFile?) -> String {
        var words: [String] = []
        if arguments["config"] == nil || arguments.fromEnvironment.contains("config") {
            let path = foundJobFilePath
            if path != Composition.serviceJobFilePath { words += ["--config", path] }
        }
        if let file, arguments["state"] == nil || arguments.fromEnvironment.contains("state") {
            let path = statePath(file)
            if path != impliedStatePath(file) { words += ["--state", path] }
        }
        // What follows `--` is no option.
        let end = arguments.words.firstIndex(of: "--") ?? arguments.words.endIndex
        var line = arguments.words
        line.insert(contentsOf: words, at: end)
        return (["clarity-jobs"] + line).map(shellQuoted).joined(separator: " ")
    }

    /// Returns the state directory that the job file alone implies for every user.
    private func impliedStatePath(_ file: JobFile) -> String? {
        file.stateDirectory ?? (isOfService ? Composition.serviceStatePath : nil)
    }

    /// Returns the name of a user; `nil` if nobody has the number.
    static func userName(_ user: uid_t) -> String? {
        getpwuid(user).map { String(cString: $0.pointee.pw_name) }
    }
}

/// A command, which uses the real components.
protocol ComposedCommand {
    var composition: Composition { get }

    init(composition: Composition)
}

extension ComposedCommand {
    init(_ composition: Composition) { self.init(composition: composition) }

    /// Returns what the scheduler of a job file would decide with at an instant.
    func planning(
        _ file: JobFile, _ history: borrowing RunHistory, at instant: Instant? = nil
    ) throws(CommandFailure) -> (planner: Planner, ledger: Ledger) {
        let planner = composition.planner(file, owner: "", scope: .everything)
        do throws(RunStoreError) {
            let recall = planner.recall(at: instant ?? composition.clock.now)
            return (planner, try history.ledger(recalling: recall))
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Returns the only operand.
    func job(wantedBy command: String) throws(CommandFailure) -> String {
        let operands = composition.arguments.operands
        guard operands.count == 1 else {
            throw CommandFailure(.usage, "`\(command)` wants one job, got \(operands.count)")
        }
        return operands[0]
    }
}

/// Returns a word as a shell reads it, in quotes if it has other characters than those of most
/// names.
func shellQuoted(_ word: String) -> String {
    guard word.isEmpty || !word.utf8.areLettersDigits(or: "-_./=:,@+%") else { return word }
    return "'" + word.replacing(scalars: ["'": "'\\''"]) + "'"
}
