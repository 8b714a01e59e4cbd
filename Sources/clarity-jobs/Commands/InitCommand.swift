import ClarityHost
import Platform
@preconcurrency import Glibc

/// `init`: asks what somebody wants and what it needs to know for that, checks each answer, and
/// leaves a job file that works.
///
/// Until the last question is answered and the export is read, or the backend has admitted the
/// person, nothing is written but the answers, the login and the data. The job file then appears
/// whole, and replaces no other. An `init` that did not end is gone on with by the next one: the
/// answers are kept (`SetupMemory`), also where the job file exists already. If only the login has
/// to wait, for a code from a mail for example, everything else is set up, and the jobs wait for it.
struct InitCommand {
    let composition: Composition
    let path: String
    /// The state directory, unless it is the user's own: before there is a job file, nothing implies
    /// that of the service.
    private let state: String?

    var arguments: Arguments { composition.arguments }
    var isUnattended: Bool { arguments.has("yes") || arguments["archive-only"] != nil }

    init(_ composition: Composition) {
        self.composition = composition
        path = composition.setUpJobFilePath
        state =
            composition.arguments["state"]
            ?? (composition.isUserOfService && path == Composition.serviceJobFilePath
                ? Composition.serviceStatePath : nil)
    }

    func run() throws(CommandFailure) -> ExitStatus {
        let memory = SetupMemory(for: path)
        let hasJobFile = access(path, F_OK) == 0
        let export = arguments["archive-only"].map {
            composition.absolute(composition.expanded($0))
        }
        let isOther = export.map { memory["goal"] != "keep" || memory["path"] != $0 } ?? false
        guard !hasJobFile || !memory.isEmpty && !isOther else {
            throw CommandFailure(
                .configuration, "there is a job file already: `\(path)`",
                "help: edit it, or name another with --config FILE")
        }
        do throws(JobFileFaults) {
            try composition.runnersReader.checkWay(to: path)
        } catch {
            throw composition.failure(error)
        }
        if hasJobFile { say("going on with the setup of \(path)") }
        var questions = SetupQuestions(
            arguments, isUnattended: isUnattended, memory, goesOn: hasJobFile, say)
        do throws(CommandFailure) {
            let status = try setUp(&questions, hasJobFile: hasJobFile)
            questions.memory.remove()
            guard arguments.has("serve") || questions.opensPages else { return status }
            let listen = arguments["listen"].map { ["--listen", $0] } ?? []
            let pages = try ForegroundProgram.run(
                try line(["serve"] + listen, path), forwards: [SIGTERM, SIGHUP])
            return ExitStatus(rawValue: pages) ?? .failed
        } catch {
            var failure = error
            let isNamed = failure.lines.contains { $0.contains("`clarity-jobs init`") }
            if !isNamed, access(memory.path, F_OK) == 0 {
                failure.lines.append(
                    "help: your answers are kept; `\(command("init"))` goes on with them")
            }
            throw failure
        }
    }

    private func setUp(
        _ questions: inout SetupQuestions, hasJobFile: Bool
    ) throws(CommandFailure) -> ExitStatus {
        var answers = SetupAnswers()
        answers.stateDirectory = arguments["state"].map(composition.absolute)
        answers.goal = try goal(&questions)
        guard answers.goal == .keep || !arguments.has("serve") else {
            throw CommandFailure(.usage, "`init --serve` wants --archive-only EXPORT")
        }
        switch answers.goal {
        case .keep: return try keep(&answers, &questions, hasJobFile: hasJobFile)
        case .send: return try send(&answers, &questions, hasJobFile: hasJobFile)
        case .jobs: return try runOwn(&answers, &questions, hasJobFile: hasJobFile)
        }
    }

    // MARK: Keep

    /// From an export to the pages, without a server.
    private func keep(
        _ answers: inout SetupAnswers, _ questions: inout SetupQuestions, hasJobFile: Bool
    ) throws(CommandFailure) -> ExitStatus {
        questions.count = 5
        try askForSource(&answers, &questions)
        answers.timeZone = try timeZone(&questions)
        answers.starter = try starter(&questions)
        if !hasJobFile {
            say("1 of 3: reading \(answers.path)")
            while let problem = try read(answers) {
                guard !isUnattended else { throw problem }
                problem.lines.forEach(say)
                answers.path = try path(of: answers.source, &questions, again: answers.path)
            }
            try questions.memory.save()
            say("2 of 3: writing \(path)")
            try JobFileDraft(answers.jobFile).publish(as: path)
        }
        // The history has the first reading too, and finds nothing that is new.
        let run = try captured(["run", SetupAnswers.importJob, "--force"])
        if run.status != 0 { say(run.errors) }
        say("3 of 3: starting the jobs")
        let isStarted = try start(answers)
        say("")
        sayWhatIsLeft(answers)
        say("A new export at \(answers.path) is read by itself.")
        say("Look at it: \(command("serve")), \(command("summary"))")
        if !arguments.has("serve"), composition.companionIfThere("clarity-jobs-web") != nil {
            questions.opensPages = questions.agrees(to: "Open the pages now?", usually: true)
        }
        return isStarted
    }

    /// Reads the export, and returns why that did not succeed.
    private func read(_ answers: SetupAnswers) throws(CommandFailure) -> CommandFailure? {
        let file = composition.expanded(answers.path)
        guard answers.source != .spool, access(file, F_OK) == 0 else {
            say("\(answers.path) is not there yet; the import waits for it")
            return nil
        }
        // The job file is not there yet.
        let status = try program(["import", file], try JobFileDraft(answers.jobFile))
        guard status != 0 else { return nil }
        return CommandFailure(
            ExitStatus(rawValue: status) ?? .failed,
            "the export could not be read, so nothing was set up",
            "help: run the same command again once it can be")
    }

    /// Says what a setup has left on this machine.
    func sayWhatIsLeft(_ answers: SetupAnswers) {
        let folder = state ?? composition.statePath(named: answers.stateDirectory)
        say("The job file: \(path)")
        say("History and data: \(folder)")
        let key = "\(folder)/keys/master.key"
        if access(key, F_OK) == 0 {
            say("The data is encrypted, and nobody can read it without this key: \(key)")
        }
        say("What starts the jobs goes with `\(command("uninstall"))`; the data stays.")
    }

    // MARK: Run programs

    /// The first job of somebody who runs programs of their own.
    private func runOwn(
        _ answers: inout SetupAnswers, _ questions: inout SetupQuestions, hasJobFile: Bool
    ) throws(CommandFailure) -> ExitStatus {
        questions.count = 5
        answers.command = try questions.answer(
            "command", "The first program to run, as you type it in a shell", nil
        ) { $0.isEmpty ? "write a command, such as `tar -cf backup.tar photo`" : nil }
        answers.schedule = try questions.answer(
            "schedule", "When: `1h`, `Mon 08:00`, or a line of a crontab such as `15 2 * * *`", nil
        ) { text in
            var tried = SetupAnswers()
            (tried.goal, tried.command, tried.schedule) = (.jobs, "true", text)
            return fault(in: tried)
        }
        answers.timeZone = try timeZone(&questions)
        answers.starter = try starter(&questions)
        if !hasJobFile {
            try questions.memory.save()
            say("1 of 2: writing \(path)")
            try JobFileDraft(answers.jobFile).publish(as: path)
        }
        say("2 of 2: starting the jobs")
        let isStarted = try start(answers)
        say("")
        sayWhatIsLeft(answers)
        say("Try the job: \(command("run \(answers.jobName)"))")
        say("What has run, and what comes next: \(command("list"))")
        return isStarted
    }

    // MARK: Questions

    /// Asks what the person wants. Whoever names a backend wants to send.
    private func goal(
        _ questions: inout SetupQuestions
    ) throws(CommandFailure) -> SetupAnswers.Goal {
        if let export = arguments["archive-only"] {
            let path = composition.absolute(composition.expanded(export))
            if let fault = ExportFile.fault(at: path) {
                throw CommandFailure(
                    .missingInput, "cannot read `\(export.printable)`: \(fault)",
                    "help: name the export.zip that the Health app made, or the folder in it")
            }
            questions.take("path", path)
            questions.take("goal", SetupAnswers.Goal.keep.rawValue)
        } else if arguments["goal"] == nil,
            arguments["backend"] != nil || arguments["email"] != nil
        {
            questions.take("goal", SetupAnswers.Goal.send.rawValue)
        }
        if !isUnattended, !questions.knows("goal") {
            say("What do you want?")
            say("  keep  keep the data of an export on this machine, and look at it")
            say("  send  send it to a CLARITY server, and see what that computes")
            say("  jobs  run programs of your own on a schedule")
        }
        return try questions.choice(
            "goal", "Your choice", isUnattended ? SetupAnswers.Goal.send : .keep)
    }

    func askForSource(
        _ answers: inout SetupAnswers, _ questions: inout SetupQuestions
    ) throws(CommandFailure) {
        answers.source = try questions.choice("source", "How samples get here", answers.source)
        answers.path = try path(of: answers.source, &questions, again: nil)
    }

    /// Asks for the file or folder until there is one that can be an export, or the person wants it
    /// although there is none yet.
    ///
    /// - Parameter former: a path that was wrong.
    private func path(
        of source: SetupAnswers.Source, _ questions: inout SetupQuestions, again former: String?
    ) throws(CommandFailure) -> String {
        var former = former
        while true {
            let path = try questions.answer(
                "path", "The file or folder", former ?? source.usualPath, again: former != nil
            ) { text in
                guard text.hasPrefix("/") || text.hasPrefix("~/") else {
                    return "write the whole path, or `~/...`"
                }
                let file = composition.expanded(text)
                guard source == .appleHealth, access(file, F_OK) == 0 else { return nil }
                return ExportFile.fault(at: file)
            }
            if isUnattended || source == .spool || access(composition.expanded(path), F_OK) == 0 {
                return path
            }
            if questions.agrees(to: "  \(path) is not there yet. Wait for it?") { return path }
            former = path
        }
    }

    func timeZone(_ questions: inout SetupQuestions) throws(CommandFailure) -> String {
        let local = LocalZone.identifier(environment: composition.environment)
        return try questions.answer(
            "time-zone", "The time zone of your days", composition.hasZone(local) ? local : nil
        ) { composition.hasZone($0) ? nil : "this machine knows no such time zone" }
    }

    /// Asks what is to start the jobs; of what is typed, what this machine has.
    func starter(
        _ questions: inout SetupQuestions
    ) throws(CommandFailure) -> SetupAnswers.Starter {
        try questions.choice("start", "What starts the jobs", usualStarter) { word in
            switch SetupAnswers.Starter(rawValue: word) {
            case .systemd where !hasOwnSystemd: "there is no systemd of yours on this machine"
            case .cron where !hasCrontab: "there is no crontab(1) on this machine"
            default: nil
            }
        }
    }

    /// Returns what a job file with these answers would be told.
    func fault(in answers: SetupAnswers) -> String? {
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
        return hasOwnSystemd ? .systemd : hasCrontab ? .cron : .none
    }

    private var hasOwnSystemd: Bool {
        composition.environment["XDG_RUNTIME_DIR"].map {
            access("\($0)/systemd/private", F_OK) == 0
        } ?? false
    }

    private var hasCrontab: Bool {
        (composition.environment["PATH"] ?? "/usr/bin").split(separator: ":").contains {
            access("\($0)/crontab", X_OK) == 0
        }
    }

    // MARK: Steps

    /// Returns a command of this program as a person types it.
    func command(_ words: String) -> String {
        let isNamed = arguments["config"] != nil && !arguments.fromEnvironment.contains("config")
        return "clarity-jobs \(words)" + (isNamed ? " --config \(shellQuoted(path))" : "")
    }

    /// Sets up what starts the jobs, or names the line that does.
    ///
    /// - Returns: `done`, or the status of a starter that could not be set up.
    func start(_ answers: SetupAnswers) throws(CommandFailure) -> ExitStatus {
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
    func program(
        _ words: [String], _ draft: borrowing JobFileDraft
    ) throws(CommandFailure) -> Int32 {
        try run(words, configuration: draft.path)
    }

    func program(_ words: [String]) throws(CommandFailure) -> Int32 {
        try run(words, configuration: path)
    }

    func run(
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
    func captured(
        _ words: [String], _ configuration: String? = nil
    ) throws(CommandFailure) -> (status: Int32, output: String, errors: String) {
        try ForegroundProgram.captured(try line(words, configuration ?? path))
    }

    private func line(
        _ words: [String], _ configuration: String
    ) throws(CommandFailure) -> [String] {
        [try composition.ownProgram()] + words + ["--config", configuration]
            + (state.map { ["--state", $0] } ?? [])
    }

    func say(_ line: String) { composition.console.note(line) }
}
