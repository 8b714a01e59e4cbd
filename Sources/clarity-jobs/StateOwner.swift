import ClarityHost
import Platform
@preconcurrency import Glibc

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

    private static func userName(_ user: uid_t) -> String? {
        getpwuid(user).map { String(cString: $0.pointee.pw_name) }
    }
}

/// Returns a word as a shell reads it, in quotes if it has other characters than those of most
/// names.
func shellQuoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "-_./=:,@+".utf8.contains(byte)
        }
    }
    guard !isPlain || word.isEmpty else { return word }
    return "'" + word.replacing("'", with: "'\\''") + "'"
}
