import ClarityHost
public import HealthStore
import HealthModel
public import Reports
import ClarityScheduler
import Platform
@preconcurrency import Glibc

/// `serve`, which serves the web pages in a program of its own, and its ways in: `serve link`,
/// `serve password` and `serve sessions`.
struct ServeCommand: ComposedCommand {
    /// Where the pages are unless somebody says otherwise.
    private static let usualAddress = "127.0.0.1:8799"

    let composition: Composition

    func run() throws(CommandFailure) -> Never {
        let arguments = composition.arguments
        guard arguments["account"] == nil else {
            throw CommandFailure(
                .usage, "`serve` shows the pages of all accounts",
                "help: clarity-jobs serve link --account ID lets a wearer in")
        }
        let (file, state) = try state()
        var words = [
            "pages", try composition.ownProgram(), composition.foundJobFilePath, state,
            arguments["listen"] ?? ServeCommand.usualAddress,
        ]
        if file.accounts != nil { words.append("accounts") }
        if arguments.has("read-only") { words.append("read-only") }
        if composition.console.isQuiet { words.append("quiet") }
        if let outer = arguments["behind"] { words.append("behind=\(outer)") }
        if arguments.has("lan") {
            guard arguments["certificate"] == nil, arguments["private-key"] == nil else {
                throw CommandFailure(
                    .usage,
                    "`--lan` makes its own certificate; leave out --certificate and "
                        + "--private-key, or --lan")
            }
            words.append("lan")
        }
        switch (arguments["certificate"], arguments["private-key"]) {
        case (nil, nil): break
        case (let certificate?, let key?):
            words.append("certificate=\(composition.absolute(certificate))")
            words.append("key=\(composition.absolute(key))")
        default:
            throw CommandFailure(
                .usage, "`serve` wants both --certificate and --private-key, or none")
        }
        try composition.exec("clarity-jobs-web", words, for: file)
    }

    /// `serve link`: prints a link that opens the pages once.
    func link() throws(CommandFailure) -> ExitStatus {
        let (file, state) = try state()
        let access = try access(file, state)
        let now = composition.clock.now
        let (address, token) = try using { () throws(BackupError) in
            (try access.address(), try access.makeLink(at: now))
        }
        let account = file.account.map { "account=\($0.id)&" } ?? ""
        let link =
            "\(address ?? "http://\(ServeCommand.usualAddress)")/enter?\(account)token=\(token)"
        composition.console.results(
            [link], PageLink(link: link, expiresAt: now + PageAccess.linkLife))
        // Another device has a camera, and nobody types 64 digits into it.
        if address?.hasPrefix("https://") ?? false, composition.console.form == .table,
            Console.isTerminal
        {
            try showCode(link)
        }
        if address == nil {
            composition.console.note(
                "no pages were served yet: `clarity-jobs serve`, or clarity-jobs-web.socket of systemd"
            )
        }
        return .done
    }

    private func showCode(_ link: String) throws(CommandFailure) {
        do throws(QRCode.Fault) {
            let columns = TerminalLine.columns(of: STDOUT_FILENO)
            composition.console.text(try QRCode(link).text(columns: columns))
        } catch {
            composition.console.note("no QR code: \(error)")
        }
    }

    /// `serve password`: replaces the password of the pages.
    func password() throws(CommandFailure) -> ExitStatus {
        let (file, state) = try state()
        let access = try access(file, state)
        let password =
            composition.arguments.has("password-stdin") ? try standardInput() : try typed()
        let now = composition.clock.now
        try using { () throws(BackupError) in try access.setPassword(password, at: now) }
        composition.console.note(
            "the pages have a new password" + (file.account.map { " for account `\($0.id)`" } ?? "")
        )
        return .done
    }

    /// Returns the ways in of the account of `--account`, or those without an account.
    private func access(_ file: JobFile, _ state: String) throws(CommandFailure) -> PageAccess {
        // The password is in the account's folder.
        if file.account != nil { try make(try composition.ownData(file)) }
        return PageAccess(stateDirectory: state, account: file.account?.id.rawValue)
    }

    // MARK: Sessions

    /// `serve sessions list`: lists the sessions, of the account of `--account` or all.
    func listSessions() throws(CommandFailure) -> ExitStatus {
        let (file, state) = try state()
        let sessions = try sessions(of: file, state)
        composition.console.results(sessions)
        return .done
    }

    /// `serve sessions end`: ends the named sessions, or with `--all` every one but that of
    /// `--except`.
    func endSessions() throws(CommandFailure) -> ExitStatus {
        let names = composition.arguments.operands
        let except = composition.arguments["except"]
        guard names.isEmpty == composition.arguments.has("all"), names.isEmpty || except == nil
        else {
            throw CommandFailure(
                .usage,
                "`serve sessions end` wants the names of sessions, or --all, with or without "
                    + "--except", "help: clarity-jobs serve sessions list")
        }
        let (file, state) = try state()
        let known = try sessions(of: file, state)
        let owner = file.account.map { " of `\($0.id)`" } ?? ""
        for name in names + [except].compactMap(\.self)
        where !known.contains(where: { $0.name == name }) {
            throw CommandFailure(
                .failed, "there is no session `\(name.printable)`\(owner)",
                "help: clarity-jobs serve sessions list")
        }
        let chosen = known.filter { names.isEmpty ? $0.name != except : names.contains($0.name) }
        let ended = Set(chosen.map(\.digest))
        let now = composition.clock.now
        let count = try using { () throws(BackupError) in
            try PageSessions(stateDirectory: state).end(at: now) { ended.contains($0.digest) }
        }
        if count > 0 { record(chosen.map(\.name), file) }
        composition.console.results(
            [counted(count, "sessions") + " ended"], EndedSessions(count: count))
        return .done
    }

    /// Records the end of sessions in the audit log, if there is health data. They have ended whether
    /// the log can be written or not.
    private func record(_ names: [String], _ file: JobFile) {
        do throws(CommandFailure) {
            guard let store = try composition.healthStore(file, as: "serve sessions end") else {
                return
            }
            try usingHealthData { () throws(HealthStoreError) in
                try store.audit.record(
                    .loggedOut, ["sessions": Int64(names.count)],
                    detail: "of the web pages: \(names.joined(separator: ", "))")
            }
        } catch {
            composition.console.note(
                "the audit log does not have it: \(error.lines.first ?? "unknown")")
        }
    }

    private func sessions(
        of file: JobFile, _ state: String
    ) throws(CommandFailure) -> [PageSessions.Entry] {
        let now = composition.clock.now
        let all = try using { () throws(BackupError) in
            try PageSessions(stateDirectory: state).list(at: now)
        }
        return all.filter { file.account == nil || $0.account == file.account?.id.rawValue }
    }

    private func typed() throws(CommandFailure) -> Secret {
        guard let terminal = Terminal() else {
            throw CommandFailure(
                .usage, "there is no terminal to ask on; use --password-stdin")
        }
        let (first, again) = (
            terminal.ask("New password of the pages: ", isSecret: true),
            terminal.ask("The same again: ", isSecret: true)
        )
        guard case .line(let bytes) = first, let password = Secret(passwordLine: bytes) else {
            throw CommandFailure(.usage, "no password was typed")
        }
        guard first == again else { throw CommandFailure(.usage, "the two passwords differ") }
        return try checked(password)
    }

    private func standardInput() throws(CommandFailure) -> Secret {
        let line = readLine(strippingNewline: true) ?? ""
        guard let password = Secret(passwordLine: Array(line.utf8)) else {
            throw CommandFailure(
                .usage, "no password on standard input; wanted one line with it")
        }
        return try checked(password)
    }

    /// Other machines may try passwords, five in a minute: some 200,000 in a month.
    private func checked(_ password: Secret) throws(CommandFailure) -> Secret {
        guard password.reveal().count >= 12 else {
            throw CommandFailure(.usage, "the password of the pages has at least 12 characters")
        }
        return password
    }

    func state() throws(CommandFailure) -> (file: JobFile, path: String) {
        let file = try composition.jobFile()
        let path = try composition.ownState(file)
        try make(path)
        return (file, path)
    }

    /// Makes the folder, unless it is there.
    func make(_ folder: String) throws(CommandFailure) {
        do throws(StateDirectoryError) {
            _ = try StateDirectory(path: folder)
        } catch {
            throw CommandFailure(error.isDisk ? .disk : .unreachable, error.description)
        }
    }

    func using<Result>(
        _ body: () throws(BackupError) -> Result
    ) throws(CommandFailure) -> Result {
        do throws(BackupError) {
            return try body()
        } catch {
            throw CommandFailure(error.isDisk ? .disk : .configuration, error.description)
        }
    }
}

/// `receive`: takes pushes in a program of its own.
struct ReceiveCommand: ComposedCommand {
    let composition: Composition

    func run() throws(CommandFailure) -> Never {
        let arguments = composition.arguments
        let file = try composition.jobFile()
        let source = try source(file)
        let state = try composition.dataPath(file)
        // All that it needs of the state directory; the unit hides the rest, and whose it is.
        try composition.requireOwn(BearerTokens.ofPushes(stateDirectory: state).folder, file)
        var words = [
            "receive", source.path, source.beneath, state,
            arguments["listen"] ?? "127.0.0.1:9188",
        ]
        switch (arguments["certificate"], arguments["private-key"]) {
        case (nil, nil): break
        case (let certificate?, let key?): words += [certificate, key].map(composition.absolute)
        default:
            throw CommandFailure(
                .usage, "`receive` wants both --certificate and --private-key, or none")
        }
        // The receiver needs no key.
        let environment = composition.commandEnvironment(file)
        for name in composition.environment.keys where environment[name] == nil { unsetenv(name) }
        try composition.exec("clarity-jobs-web", words, for: nil)
    }

    /// Returns the folder of the source whose files are deleted after reading, and the folder below
    /// which no link to it is followed; empty without accounts.
    private func source(
        _ file: JobFile
    ) throws(CommandFailure) -> (path: String, beneath: String) {
        let folders = try readingSections { () throws(Failure) in try file.sections.sources }
            .filter { $0.isDeletedWhenRead == true }
        guard folders.count == 1, let folder = folders.first else {
            throw CommandFailure(
                .configuration,
                "the job file has \(folders.isEmpty ? "no source" : "\(folders.count) sources") "
                    + "with `delete_after_reading: true`; `receive` wants one",
                "help: sources: [{ kind: health-auto-export, path: FOLDER, "
                    + "delete_after_reading: true }]")
        }
        return (folder.path, folder.root ?? "")
    }
}

/// `mcp`: answers the questions of an assistant on standard input and output, in a program of its own.
struct AssistantCommand: ComposedCommand {
    let composition: Composition

    /// - Throws: `CommandFailure` (configuration) unless the job file allows an assistant something.
    func run() throws(CommandFailure) -> Never {
        guard composition.arguments.operands.isEmpty else {
            throw CommandFailure(.usage, "`mcp` takes no operand")
        }
        let file = try composition.jobFile()
        guard file.accounts == nil || file.account != nil else {
            throw CommandFailure(
                .usage, "`mcp` is of one account", "help: clarity-jobs --account ID mcp")
        }
        let allowed = try readingSections { () throws(Failure) in
            try file.sections.assistant.allowed
        }
        guard !allowed.isEmpty else {
            throw CommandFailure(
                .configuration, "the job file allows an assistant nothing",
                "help: name what it may read, such as `mcp: { sleep: true, activity: true }`")
        }
        let words = [
            "mcp", try composition.ownProgram(), composition.foundJobFilePath,
            composition.statePath(file), allowed.joined(separator: ","),
        ]
        try composition.exec(
            "clarity-jobs-web", words + [file.account?.id.rawValue].compactMap(\.self), for: file)
    }
}

/// The result of `serve link`.
struct PageLink: Reported {
    let link: String
    let expiresAt: Instant

    static let report = Report<PageLink>([
        Column("link", "address that opens the pages once") { $0.link },
        Column("expires_at", "when it stops working") { $0.expiresAt },
    ])
}

extension PageSessions.Entry: Reported {
    public static let report = Report<PageSessions.Entry>([
        Column("session", "name of the session, as in the audit log") { $0.name }
            .shown("SESSION"),
        Column("account", "the account; none of a session without one") { $0.account }
            .shown("ACCOUNT"),
        Column("begun_at", "when the browser logged in") { $0.begunAt }.shown("BEGUN"),
        Column("ends_at", "when the session ends by itself") { $0.endsAt }.shown("ENDS"),
        Column("used_at", "when it was last used, to within a minute") { $0.usedAt }
            .shown("LAST USED"),
        Column("address", "the address from which it was last used, if that is known") {
            $0.browser?.address
        }.shown("FROM"),
        Column("browser", "the browser that used it, by its own account") { $0.browser?.name }
            .shown("BROWSER"),
    ])
}

/// The result of `serve sessions end`.
struct EndedSessions: Reported {
    let count: Int

    static let report = Report<EndedSessions>([
        Column("ended", "number of sessions that were ended") { $0.count }
    ])
}

/// `exporter`: serves metrics to Prometheus, in a program of its own.
struct ExporterCommand: ComposedCommand {
    let composition: Composition

    func run() throws(CommandFailure) -> Never {
        guard composition.arguments.operands.isEmpty else {
            throw CommandFailure(.usage, "`exporter` takes no operands")
        }
        let file = try composition.jobFile()
        try composition.exec(
            "clarity-jobs-web",
            ["exporter"] + (try composition.exporterWords(file))
                + [composition.arguments["listen"] ?? "127.0.0.1:9187"],
            for: file)
    }
}
