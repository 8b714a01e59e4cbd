import JSON
import Platform
@preconcurrency import Glibc

// The part of `init` for somebody who sends samples to a server.

extension InitCommand {
    func send(
        _ answers: inout SetupAnswers, _ questions: inout SetupQuestions, hasJobFile: Bool
    ) throws(CommandFailure) -> ExitStatus {
        questions.count = 9
        answers.backend = try address(&questions)
        answers.email = try email(&questions, again: nil)
        answers.newcomer = try newcomer(&questions)
        try askForSource(&answers, &questions)
        answers.timeZone = try timeZone(&questions)
        answers.hours = try questions.choice("hours", "When to upload", answers.hours)
        answers.starter = try starter(&questions)
        if isUnattended, try answering([answers.backend]) == nil {
            throw CommandFailure(.unreachable, "the backend does not answer as it should")
        }
        say("1 of 4: logging in")
        let password = arguments.has("password-stdin") ? readPassword() : nil
        let login: ExitStatus
        if hasJobFile {
            let isLoggedIn = try captured(["auth", "status"]).status == 0
            login = isLoggedIn ? .done : try logIn(&answers, &questions, path, password)
        } else {
            let draft = try JobFileDraft(answers.jobFile)
            try register(&answers, &questions, draft.path, password)
            login = try logIn(&answers, &questions, draft.path, password)
            try questions.memory.save()
            try draft.publish(as: path)
        }
        guard login == .done else {
            _ = try start(answers)
            throw unfinished(answers, login)
        }
        say("2 of 4: wrote \(path)")
        say("3 of 4: reading and sending")
        try sync(answers)
        say("4 of 4: starting the jobs")
        let isStarted = try start(answers)
        say("")
        sayWhatIsLeft(answers)
        say("What comes next:")
        _ = try program(["next", "-n", "5"])
        say("`clarity-jobs status` says whether your data is up to date.")
        return isStarted
    }

    // MARK: Questions

    /// Asks for the server until one answers, or the person wants one that does not.
    private func address(_ questions: inout SetupQuestions) throws(CommandFailure) -> String {
        var former: String?
        while true {
            let typed = try questions.answer(
                "backend", "The address of the CLARITY server's API", former, again: former != nil
            ) { text in
                var answers = SetupAnswers()
                answers.backend = isUnattended ? text : SetupAnswers.addresses(typed: text)[0]
                return fault(in: answers)
            }
            // Options are all checked before anybody is asked over the network.
            if isUnattended { return typed }
            let addresses = SetupAnswers.addresses(typed: typed)
            if let found = try answering(addresses) {
                try questions.keep("backend", found)
                return found
            }
            if questions.agrees(to: "Go on without the backend?") {
                try questions.keep("backend", addresses[0])
                return addresses[0]
            }
            former = typed
        }
    }

    /// Returns the first address at which a backend answers as it should, or else at which one
    /// answers at all, and says what it said; says why if there is none.
    private func answering(_ addresses: [String]) throws(CommandFailure) -> String? {
        var second: (address: String, lines: [String])?
        var problems: [String] = []
        for address in addresses {
            let draft = try JobFileDraft(SetupAnswers.probe(of: address))
            let check = try captured(["doctor", "--backend", "-o", "json"], draft.path)
            let findings = findings(in: check.output)
            let lines = findings.map { "\($0.subject): \($0.text)" }
            guard check.status == 0 else {
                problems.append(contentsOf: lines.isEmpty ? [check.errors] : lines)
                // Whatever the path, the same machine would not answer.
                if check.status == ExitStatus.unreachable.rawValue { break }
                continue
            }
            if findings.contains(where: { $0.subject == "service" && $0.isGood }) {
                lines.forEach(say)
                return address
            }
            second = second ?? (address, lines)
        }
        (second?.lines ?? problems).forEach(say)
        return second?.address
    }

    private func findings(in output: String) -> [(subject: String, text: String, isGood: Bool)] {
        do throws(JSONFault) {
            let result = try JSONParser.parse(Array(output.utf8))
            guard case .array(let rows) = result["findings"] else { return [] }
            return rows.map {
                ($0["subject"]?.text ?? "", $0["text"]?.text ?? "", $0["good"] == .bool(true))
            }
        } catch {
            return []
        }
    }

    private func email(
        _ questions: inout SetupQuestions, again former: String?
    ) throws(CommandFailure) -> String {
        try questions.answer(
            "email", "The email address of your account", former, again: former != nil
        ) { $0.contains("@") ? nil : "an email address has an `@`" }
    }

    /// Returns who is to be registered; `nil` for a person with an account.
    private func newcomer(
        _ questions: inout SetupQuestions
    ) throws(CommandFailure) -> SetupAnswers.Newcomer? {
        let account = try questions.choice(
            "account", "Do you have an account there?", SetupAnswers.Account.yes)
        guard account == .no else { return nil }
        func name(_ text: String) -> String? { text.isEmpty ? "write your name" : nil }
        questions.count = 11
        let newcomer = SetupAnswers.Newcomer(
            firstName: try questions.answer("first-name", "Your first name", nil, name),
            lastName: try questions.answer("last-name", "Your last name", nil, name))
        guard !arguments.has("accept-terms"), !questions.isRegistered else { return newcomer }
        guard questions.agrees(to: "Do you accept the backend's terms and privacy policy?") else {
            throw CommandFailure(
                .usage, "an account wants its terms accepted, so nothing was set up",
                "help: --accept-terms accepts them")
        }
        return newcomer
    }

    // MARK: Steps

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

    /// Creates the account of a newcomer, once.
    private func register(
        _ answers: inout SetupAnswers, _ questions: inout SetupQuestions, _ draft: String,
        _ password: [UInt8]?
    ) throws(CommandFailure) {
        guard let newcomer = answers.newcomer, !questions.isRegistered else { return }
        var words = [
            "auth", "register", "--email", answers.email, "--first-name", newcomer.firstName,
            "--last-name", newcomer.lastName, "--accept-terms",
        ]
        if password != nil { words.append("--password-stdin") }
        repeat {
            if try run(words, configuration: draft, input: password) == 0 {
                return try questions.keep(SetupMemory.registered, "yes")
            }
        } while questions.agrees(to: "Try to register again?", usually: true)
        if questions.agrees(to: "Log in to an account that you have there already?") {
            answers.newcomer = nil
            return try questions.keep("account", SetupAnswers.Account.yes.rawValue)
        }
        throw CommandFailure(
            .credential, "nobody was registered, so nothing was set up",
            "help: if you have registered before, run `clarity-jobs init` again and say that you "
                + "have an account")
    }

    /// Logs in. A terminal is asked for the code too if the backend wants the address confirmed, and
    /// after a refusal for the address and the password again.
    ///
    /// - Returns: `done`, or a status of a login that may succeed later.
    /// - Throws: if the backend refused a person who has an account.
    private func logIn(
        _ answers: inout SetupAnswers, _ questions: inout SetupQuestions, _ jobFile: String,
        _ password: [UInt8]?
    ) throws(CommandFailure) -> ExitStatus {
        var status = ExitStatus.credential
        for attempt in 1...(isUnattended ? 1 : 3) where status == .credential {
            if attempt > 1, answers.newcomer == nil {
                answers.email = try email(&questions, again: answers.email)
            }
            var words = ["auth", "login", "--email", answers.email]
            if password != nil { words.append("--password-stdin") }
            let end = try run(words, configuration: jobFile, input: password)
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
            failure.lines.append(
                "help: run `clarity-jobs init` again later, or log in and upload:")
        } else {
            failure.lines += [
                "help: once you have the code from the mail, run `clarity-jobs init` again, or:",
                "  \(command("auth verify \(email)"))",
            ]
        }
        failure.lines += [
            "  \(command("auth login \(email)"))", "  \(command("run \(SetupAnswers.uploadJob)"))",
        ]
        if answers.newcomer != nil {
            failure.lines.append("without a code: \(command("auth resend-code \(email)"))")
        }
        return failure
    }

    /// Reads what is there, and sends it.
    private func sync(_ answers: SetupAnswers) throws(CommandFailure) {
        let file = composition.expanded(answers.path)
        guard access(file, R_OK) == 0 else {
            return say("\(answers.path) is not there yet; the upload waits for it")
        }
        if answers.source != .spool {
            guard try program(["import", file, "--report"]) == 0 else {
                return say("the export could not be read; the upload tries again")
            }
        }
        guard !arguments.has("no-sync") else { return }
        let status = try program(["run", SetupAnswers.uploadJob, "--force"])
        if status != 0 { say("the first upload did not succeed; it will be retried") }
    }
}
