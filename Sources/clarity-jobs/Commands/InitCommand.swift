import ClarityHost
import ClarityScheduler
import Platform
@preconcurrency import Glibc

/// `init`: asks what it needs to know, checks each answer, and leaves a job file that works.
///
/// Until the last question is answered and the backend has admitted the person, nothing is written
/// but the login. The job file then appears whole, and replaces no other. If only the login has to
/// wait, for a code from a mail for example, everything else is set up, and the jobs wait for it.
struct InitCommand {
    private let composition: Composition
    private let path: String
    /// The state directory, unless it is the user's own: before there is a job file, nothing implies
    /// that of the service.
    private let state: String?
    private let uploadJob = SetupAnswers.uploadJob

    private var arguments: Arguments { composition.arguments }
    private var isUnattended: Bool { arguments.has("yes") || arguments["archive-only"] != nil }

    init(_ composition: Composition) {
        self.composition = composition
        let isForService = composition.isUserOfService
        path = composition.absolute(
            composition.arguments["config"]
                ?? (isForService ? Composition.serviceJobFilePath : composition.userJobFilePath))
        state =
            composition.arguments["state"]
            ?? (isForService && path == Composition.serviceJobFilePath
                ? Composition.serviceStatePath : nil)
    }

    func run() throws(CommandFailure) -> ExitStatus {
        guard access(path, F_OK) != 0 else {
            throw CommandFailure(
                .configuration, "there is a job file already: `\(path)`",
                "help: edit it, or name another with --config FILE")
        }
        do throws(JobFileFaults) {
            try composition.runnersReader.checkWay(to: path)
        } catch {
            throw composition.failure(error)
        }
        if let export = arguments["archive-only"] { return try keep(export) }
        guard !arguments.has("serve") else {
            throw CommandFailure(.usage, "`init --serve` wants --archive-only EXPORT")
        }
        let answers = try answers()
        let draft = try JobFileDraft(answers.jobFile)
        try checkBackend(draft)
        let password = arguments.has("password-stdin") ? readPassword() : nil
        try register(answers, draft, password)
        let login = try logIn(answers, draft, password)
        try draft.publish(as: path)
        guard login == .done else {
            _ = try start(answers)
            throw unfinished(answers, login)
        }
        say("wrote \(path)")
        try sync(answers)
        let isStarted = try start(answers)
        say("")
        say("What comes next:")
        _ = try program(["next", "-n", "5"])
        say("`clarity-jobs status` says whether your data is up to date.")
        return isStarted
    }

    /// `--archive-only`: from an export to the pages, without a question and without a server.
    private func keep(_ export: String) throws(CommandFailure) -> ExitStatus {
        var answers = SetupAnswers()
        answers.goal = .keep
        answers.stateDirectory = arguments["state"].map(composition.absolute)
        answers.path = composition.absolute(composition.expanded(export))
        if let fault = ExportFile.fault(at: answers.path) {
            throw CommandFailure(
                .missingInput, "cannot read `\(export.printable)`: \(fault)",
                "help: name the export.zip that the Health app made, or the folder in it")
        }
        answers.timeZone = try timeZone()
        answers.starter = try starter()
        let draft = try JobFileDraft(answers.jobFile)
        say("1 of 3: reading \(answers.path)")
        let status = try program(["import", answers.path], draft)
        guard status == 0 else {
            throw CommandFailure(
                ExitStatus(rawValue: status) ?? .failed,
                "the export could not be read, so nothing was set up",
                "help: run the same command again once it can be")
        }
        say("2 of 3: writing \(path)")
        try draft.publish(as: path)
        // The history has the first reading too, and finds nothing that is new.
        let run = try captured(["run", SetupAnswers.importJob, "--force"])
        if run.status != 0 { composition.console.note(run.errors) }
        say("3 of 3: starting the jobs")
        let isStarted = try start(answers)
        say("")
        sayWhatIsLeft(answers)
        guard arguments.has("serve") else { return isStarted }
        let listen = arguments["listen"].map { ["--listen", $0] } ?? []
        let pages = try ForegroundProgram.run(try line(["serve"] + listen, path))
        return ExitStatus(rawValue: pages) ?? .failed
    }

    /// Says what a setup without a server has left, and what can be done with it.
    private func sayWhatIsLeft(_ answers: SetupAnswers) {
        let folder = state ?? composition.statePath(named: answers.stateDirectory)
        say("Your data is here, encrypted: \(folder)")
        say("Without this key in it nobody can read the data: \(folder)/keys/master.key")
        say("The job file: \(path)")
        say("A new export at \(answers.path) is read by itself.")
        say("Look at it: \(command("serve")), \(command("summary"))")
    }

    // MARK: Questions

    private func answers() throws(CommandFailure) -> SetupAnswers {
        var answers = SetupAnswers()
        answers.stateDirectory = arguments["state"].map(composition.absolute)
        answers.backend = try answer(
            "backend", "The address of the CLARITY server's API", nil, backendFault)
        answers.email = try answer("email", "The email address of your account", nil) {
            $0.contains("@") ? nil : "an email address has an `@`"
        }
        answers.newcomer = try newcomer()
        answers.source = try choice(
            "source", "How samples get here", SetupAnswers.Source.self, answers.source)
        answers.path = try answer(
            "path", "The file or folder", answers.source.usualPath
        ) { $0.hasPrefix("/") || $0.hasPrefix("~/") ? nil : "write the whole path, or `~/...`" }
        answers.timeZone = try timeZone()
        answers.hours = try choice(
            "hours", "When to upload", SetupAnswers.Hours.self, answers.hours)
        answers.starter = try starter()
        return answers
    }

    private func timeZone() throws(CommandFailure) -> String {
        let local = LocalZone.identifier(environment: composition.environment)
        return try answer(
            "time-zone", "The time zone of your days", composition.hasZone(local) ? local : nil
        ) { composition.hasZone($0) ? nil : "this machine knows no such time zone" }
    }

    private func starter() throws(CommandFailure) -> SetupAnswers.Starter {
        try choice("start", "What starts the jobs", SetupAnswers.Starter.self, usualStarter)
    }

    /// Returns who is to be registered; `nil` for a person with an account.
    private func newcomer() throws(CommandFailure) -> SetupAnswers.Newcomer? {
        let account = try choice(
            "account", "Do you have an account there?", SetupAnswers.Account.self, .yes)
        guard account == .no else { return nil }
        func name(_ text: String) -> String? { text.isEmpty ? "write your name" : nil }
        let newcomer = SetupAnswers.Newcomer(
            firstName: try answer("first-name", "Your first name", nil, name),
            lastName: try answer("last-name", "Your last name", nil, name))
        guard !arguments.has("accept-terms") else { return newcomer }
        guard !isUnattended, let terminal = Terminal(),
            terminal.agrees(to: "Do you accept the backend's terms and privacy policy? [y/N] ")
        else {
            throw CommandFailure(
                .usage, "an account wants its terms accepted, so nothing was set up",
                "help: --accept-terms accepts them")
        }
        return newcomer
    }

    /// Returns what a job file with this address would be told.
    private func backendFault(_ text: String) -> String? {
        var answers = SetupAnswers()
        answers.backend = text
        do throws(JobFileFaults) {
            _ = try composition.jobFileReader.read(Array(answers.jobFile.utf8), path: "/")
            return nil
        } catch {
            return error.faults.first?.message
        }
    }

    /// systemd if it runs for this user, else cron if it is installed. The user of the service has
    /// the service.
    private var usualStarter: SetupAnswers.Starter {
        if composition.isUserOfService { return .none }
        if let runtime = composition.environment["XDG_RUNTIME_DIR"],
            access("\(runtime)/systemd/private", F_OK) == 0
        {
            return .systemd
        }
        return access("/usr/bin/crontab", X_OK) == 0 ? .cron : .none
    }

    /// Returns the value of an option, or else the answer to a question, once it has no fault.
    private func answer(
        _ option: String, _ question: String, _ usual: String?, _ fault: (String) -> String?
    ) throws(CommandFailure) -> String {
        if let given = arguments[option] {
            if let fault = fault(given) {
                throw CommandFailure(.usage, "--\(option) `\(given.printable)`: \(fault)")
            }
            return given
        }
        if isUnattended {
            guard let usual else { throw CommandFailure(.usage, "`init --yes` wants --\(option)") }
            return usual
        }
        guard let terminal = Terminal() else {
            throw CommandFailure(
                .usage, "`init` has no terminal to ask on",
                "help: give the answers as options, with --yes")
        }
        while true {
            let hint = usual.map { " [\($0)]" } ?? ""
            guard case .line(let bytes) = terminal.ask("\(question)\(hint): ", isSecret: false)
            else { throw CommandFailure(.interrupted, "nothing was set up") }
            let words = String(decoding: bytes, as: UTF8.self)
            let typed = words.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
            let text = typed.isEmpty ? usual ?? "" : typed
            guard let fault = fault(text) else { return text }
            say("  \(fault)")
        }
    }

    private func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ option: String, _ question: String, _ type: Choice.Type, _ usual: Choice
    ) throws(CommandFailure) -> Choice {
        let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        let word = try answer(option, "\(question) (\(names))", usual.rawValue) {
            Choice(rawValue: $0) == nil ? "write one of: \(names)" : nil
        }
        return Choice(rawValue: word) ?? usual
    }

    // MARK: Steps

    /// Asks the backend, and lets the person decide if it does not answer.
    private func checkBackend(_ draft: borrowing JobFileDraft) throws(CommandFailure) {
        let status = try program(["doctor", "--backend"], draft)
        guard status != 0 else { return }
        guard !isUnattended, let terminal = Terminal(),
            terminal.agrees(to: "Go on without the backend? [y/N] ")
        else { throw CommandFailure(.unreachable, "the backend does not answer as it should") }
    }

    /// Returns the first line of the standard input, which two programs read in turn.
    private func readPassword() -> [UInt8] {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while line.count < 4096, read(STDIN_FILENO, &byte, 1) == 1 {
            line.append(byte)
            if byte == 0x0A { break }
        }
        return line
    }

    /// Creates the account of a newcomer.
    private func register(
        _ answers: SetupAnswers, _ draft: borrowing JobFileDraft, _ password: [UInt8]?
    ) throws(CommandFailure) {
        guard let newcomer = answers.newcomer else { return }
        var words = [
            "auth", "register", "--email", answers.email, "--first-name", newcomer.firstName,
            "--last-name", newcomer.lastName, "--accept-terms",
        ]
        if password != nil { words.append("--password-stdin") }
        guard try run(words, configuration: draft.path, input: password) == 0 else {
            throw CommandFailure(
                .credential, "nobody was registered, so nothing was set up",
                "help: if you have registered before, run `clarity-jobs init` again and say that you "
                    + "have an account")
        }
    }

    /// Logs in. A terminal is asked for the code too if the backend wants the address confirmed.
    ///
    /// - Returns: `done`, or a status of a login that may succeed later.
    /// - Throws: if the backend refused a person who has an account.
    private func logIn(
        _ answers: SetupAnswers, _ draft: borrowing JobFileDraft, _ password: [UInt8]?
    ) throws(CommandFailure) -> ExitStatus {
        var words = ["auth", "login", "--email", answers.email]
        if password != nil { words.append("--password-stdin") }
        var status = ExitStatus.credential
        for _ in 1...(isUnattended ? 1 : 3) where status == .credential {
            let end = try run(words, configuration: draft.path, input: password)
            status = ExitStatus(rawValue: end) ?? .internalFault
        }
        let mayComeLater = [.done, .deferred, .unreachable].contains(status)
        guard mayComeLater || answers.newcomer != nil else {
            throw CommandFailure(
                .credential, "nobody is logged in, so nothing was set up",
                "help: run `clarity-jobs init` again")
        }
        return status
    }

    /// Says what is left to do after a setup without a login.
    private func unfinished(_ answers: SetupAnswers, _ status: ExitStatus) -> CommandFailure {
        let email = "--email \(shellQuoted(answers.email))"
        var failure = CommandFailure(
            status, "wrote \(path); nobody is logged in, and the jobs wait for that")
        if answers.newcomer == nil {
            failure.lines.append("help: log in later, and then upload:")
        } else {
            failure.lines += [
                "help: once you have the code from the mail, run these commands:",
                "  \(command("auth verify \(email)"))",
            ]
        }
        failure.lines += [
            "  \(command("auth login \(email)"))", "  \(command("run \(uploadJob)"))",
        ]
        if answers.newcomer != nil {
            failure.lines.append("without a code: \(command("auth resend-code \(email)"))")
        }
        return failure
    }

    /// Returns a command of this program as a person types it.
    private func command(_ words: String) -> String {
        let isNamed = arguments["config"] != nil && !arguments.fromEnvironment.contains("config")
        return "clarity-jobs \(words)" + (isNamed ? " --config \(shellQuoted(path))" : "")
    }

    /// Reads what is there, and sends it.
    private func sync(_ answers: SetupAnswers) throws(CommandFailure) {
        let file = composition.expanded(answers.path)
        guard access(file, R_OK) == 0 else {
            return say("\(answers.path) is not there yet; the upload waits for it")
        }
        if answers.source != .spool {
            guard try program(["import", file, "--report"]) == 0 else { return }
        }
        guard !arguments.has("no-sync") else { return }
        let status = try program(["run", uploadJob, "--force"])
        if status != 0 { say("the first upload did not succeed; it will be retried") }
    }

    /// Sets up what starts the jobs, or names the line that does.
    ///
    /// - Returns: `done`, or the status of a starter that could not be set up.
    private func start(_ answers: SetupAnswers) throws(CommandFailure) -> ExitStatus {
        let own = try composition.ownProgram()
        do throws(CommandFailure) {
            switch answers.starter {
            case .none where path == Composition.serviceJobFilePath:
                say("start the service: sudo systemctl start clarity-jobs")
            case .none:
                say("nothing starts the jobs yet; let this run, or start it with the machine:")
                say("  \(command("loop"))")
            case .cron: try Starters.addToCrontab(own, path)
            case .systemd:
                try Starters.enableUserService(
                    own, path, composition.configurationFolder,
                    isUsual: path == composition.userJobFilePath)
            }
        } catch {
            error.lines.forEach(say)
            say("everything else is set up; this line of a crontab starts the jobs:")
            say("  \(Starters.crontabLine(own, path))")
            return error.status
        }
        if answers.starter != .none { say("the jobs are started by \(answers.starter.rawValue)") }
        if answers.starter == .systemd {
            say("while you are logged out too, after `loginctl enable-linger`")
        }
        return .done
    }

    /// Runs a command of this program with the job file, and returns its exit status.
    private func program(
        _ words: [String], _ draft: borrowing JobFileDraft
    ) throws(CommandFailure) -> Int32 {
        try run(words, configuration: draft.path)
    }

    private func program(_ words: [String]) throws(CommandFailure) -> Int32 {
        try run(words, configuration: path)
    }

    private func run(
        _ words: [String], configuration: String, input: [UInt8]? = nil
    ) throws(CommandFailure) -> Int32 {
        let status = try ForegroundProgram.run(try line(words, configuration), input: input)
        if status > 128 {
            throw CommandFailure(
                status == 128 + SIGINT ? .interrupted : .terminated, "interrupted")
        }
        return status
    }

    /// Runs a command with the job file, and returns what it wrote.
    private func captured(
        _ words: [String]
    ) throws(CommandFailure) -> (status: Int32, output: String, errors: String) {
        try ForegroundProgram.captured(try line(words, path))
    }

    private func line(
        _ words: [String], _ configuration: String
    ) throws(CommandFailure) -> [String] {
        [try composition.ownProgram()] + words + ["--config", configuration]
            + (state.map { ["--state", $0] } ?? [])
    }

    private func say(_ line: String) { composition.console.note(line) }
}
