import ClarityTestSupport
import Foundation
@testable import ProgramTestSupport
import Testing

/// From the registration to the first upload where the backend verifies addresses: each command that
/// the program advises must work.
@Suite("the first day", .timeLimit(.minutes(5)))
struct FirstDayProgramTests {
    private static let address = "new@example.com"
    private static let password = "Invented-Passw0rd!"

    /// A home without a job file, with an export and a backend that verifies addresses as the
    /// deployed one does.
    private func playground() async throws -> Playground {
        let playground = try await Playground(sandboxOptions: [
            "--dialect", "loop", "--quirks",
            "verified-signup,limits,retry-after-zero,lockout,wrong-statuses,no-email",
        ])
        try playground.writeExport(heartRates: 3)
        try FileManager.default.removeItem(atPath: playground.jobFilePath)
        return playground
    }

    private func code(_ playground: Playground) async throws -> String? {
        let port = try #require(playground.sandbox).port
        let mail = try JSONValue(
            try await LoopbackRequest.send("GET", "/_sandbox/mail", port: port))["mail"]
        return mail.elements.first { $0["to"].text == Self.address }?["code"].text
    }

    private func setup(_ playground: Playground, _ account: [String]) -> [String] {
        [
            "init", "--backend", playground.url, "--email", Self.address, "--path",
            "\(playground.folder.path)/export.xml", "--time-zone", "Europe/London", "--hours",
            "always", "--start", "none", "--source", "apple-health-export", "--config",
            playground.jobFilePath,
        ] + account
    }

    private let newcomer = [
        "--account", "no", "--first-name", "New", "--last-name", "Person", "--accept-terms",
    ]

    private func initialise(
        _ playground: Playground, _ account: [String]
    ) async throws -> ProgramResult {
        try await playground.start(
            setup(playground, account) + ["--yes", "--password-stdin"]
        ).finish(input: "\(Self.password)\n")
    }

    private func login(_ playground: Playground) async throws -> ProgramResult {
        try await playground.run(
            "auth", "login", "--email", Self.address, "--password-stdin",
            input: "\(Self.password)\n")
    }

    @Test func `a script is told what is left, and each of these commands works`() async throws {
        let playground = try await playground()

        let begun = try await initialise(playground, newcomer)
        let waiting = try await playground.run("run", "com.clarity.healthkit.upload")
        let mail = try #require(try await code(playground))
        let resent = try await playground.run("auth", "resend-code", "--email", Self.address)
        let second = try #require(try await code(playground))
        let verified = try await playground.run(
            "auth", "verify", "--email", Self.address, "--code", second)
        let login = try await login(playground)
        let upload = try await playground.run("run", "com.clarity.healthkit.upload")

        #expect(begun.status == 75, "\(begun.errors)")
        #expect(
            Array(begun.errorLines.suffix(6)) == [
                "clarity-jobs: wrote \(playground.jobFilePath); nobody is logged in, and the jobs wait for that",
                "help: once you have the code from the mail, run `clarity-jobs init` again, or:",
                "  clarity-jobs auth verify --email new@example.com --config \(playground.jobFilePath)",
                "  clarity-jobs auth login --email new@example.com --config \(playground.jobFilePath)",
                "  clarity-jobs run com.clarity.healthkit.upload --config \(playground.jobFilePath)",
                "without a code: clarity-jobs auth resend-code --email new@example.com --config \(playground.jobFilePath)",
            ])
        #expect(waiting.status == 75 && waiting.errors.contains("waits for a login"))
        #expect(resent.status == 0, "\(resent.errors)")
        #expect(mail != second)
        #expect(verified.status == 0, "\(verified.errors)")
        #expect(login.status == 0, "\(login.errors)")
        #expect(upload.status == 0, "\(upload.errors)")
        #expect(try await playground.sandbox?.sends().samples.count == 3)
    }

    @Test func `a person asks for another code, mistypes it, and ends with an upload`()
        async throws
    {
        let playground = try await playground()
        let program = try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", setup(playground, newcomer),
            environment: playground.terminalEnvironment)
        let question = "Code from the mail to new@example.com (Enter: mail another): "
        for prompt in ["New password for new@example.com: ", "gain: "] {
            _ = await program.read(until: prompt)
            program.type("\(Self.password)\n")
        }
        _ = await program.read(until: "\nPassword for new@example.com: ")
        program.type("\(Self.password)\n")
        _ = await program.read(until: question)
        let first = try #require(try await code(playground))
        program.type("\n")
        _ = await program.read(until: question, count: 2)
        let second = try #require(try await code(playground))
        program.type("\(first)\n")
        _ = await program.read(until: question, count: 3)
        program.type("\(second)\n")
        let end = await program.finish()

        #expect(end.status == 0, "\(end.screen)")
        #expect(first != second)
        #expect(end.screen.contains("the backend refused the code, or it has run out"))
        #expect(end.screen.contains("confirmed new@example.com"))
        #expect(end.screen.contains("wrote \(playground.jobFilePath)"))
        #expect(!end.screen.contains(Self.password) && !end.screen.contains(second))
        #expect(try await playground.sandbox?.sends().samples.count == 3)
    }

    @Test func `a registered person resumes init after they closed the terminal`() async throws {
        let playground = try await playground()
        let begun = try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", setup(playground, newcomer),
            environment: playground.terminalEnvironment)
        for prompt in ["New password for new@example.com: ", "gain: "] {
            _ = await begun.read(until: prompt)
            begun.type("\(Self.password)\n")
        }
        _ = await begun.read(until: "\nPassword for new@example.com: ")
        begun.type("\u{3}")
        let interrupted = await begun.finish()

        let again = try await initialise(playground, newcomer)
        let program = try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", setup(playground, ["--account", "yes"]),
            environment: playground.terminalEnvironment)
        _ = await program.read(until: "Password for new@example.com: ")
        program.type("\(Self.password)\n")
        _ = await program.read(until: "mail another): ")
        program.type("\(try #require(try await code(playground)))\n")
        let end = await program.finish()

        #expect(interrupted.status == 130 || interrupted.status == 128 + SIGINT)
        #expect(again.status == 77)
        #expect(
            again.errorLines.last
                == "help: if you have registered before, run `clarity-jobs init` again and say that you have an account"
        )
        #expect(end.status == 0, "\(end.screen)")
        #expect(try await playground.sandbox?.sends().samples.count == 3)
    }

    @Test func `a person without the code at hand goes on later, although there is a job file`()
        async throws
    {
        let playground = try await playground()
        let begun = try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", setup(playground, newcomer),
            environment: playground.terminalEnvironment)
        for prompt in ["New password for new@example.com: ", "gain: "] {
            _ = await begun.read(until: prompt)
            begun.type("\(Self.password)\n")
        }
        _ = await begun.read(until: "\nPassword for new@example.com: ")
        begun.type("\(Self.password)\n")
        _ = await begun.read(until: "mail another): ")
        begun.type("\u{4}")
        let waiting = await begun.finish()
        let isThere = access(playground.jobFilePath, F_OK) == 0

        let program = try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", ["init"],
            environment: playground.terminalEnvironment)
        _ = await program.read(until: "Password for new@example.com: ")
        program.type("\(Self.password)\n")
        _ = await program.read(until: "mail another): ")
        program.type("\(try #require(try await code(playground)))\n")
        let end = await program.finish()
        let third = try await playground.run("init")

        #expect(waiting.status == 75 && isThere, "\(waiting.screen)")
        #expect(waiting.screen.contains("run `clarity-jobs init` again, or:"))
        #expect(end.status == 0, "\(end.screen)")
        #expect(end.screen.contains("going on with the setup of \(playground.jobFilePath)"))
        #expect(try await playground.sandbox?.sends().samples.count == 3)
        #expect(third.status == 78, "a setup that has ended is not gone on with")
    }

    @Test func `a lockout after a typo ends neither the setup nor its answers`() async throws {
        let playground = try await playground()
        let words = setup(playground, []).filter { $0 != Self.address }.map {
            $0 == "--email" ? "--email=demo@example.com" : $0
        }
        try await playground.sandbox?.addFault("POST /auth/login: 429 retry-after=900")
        let begun = try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", words + ["--account", "yes"],
            environment: playground.terminalEnvironment)
        _ = await begun.read(until: "Password for demo@example.com: ")
        begun.type("Typo\n")
        let locked = await begun.finish()
        try await playground.sandbox?.clearFaults()

        let program = try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", ["init"],
            environment: playground.terminalEnvironment)
        _ = await program.read(until: "Password for demo@example.com: ")
        program.type("Demo-Passw0rd!\n")
        let end = await program.finish()

        #expect(locked.status == 75, "\(locked.screen)")
        #expect(locked.screen.contains("help: run `clarity-jobs init` again later"))
        #expect(end.status == 0, "\(end.screen)")
        #expect(try await playground.sandbox?.sends().samples.count == 3)
    }

    @Test func `a weak password of a newcomer is asked for again`() async throws {
        let playground = try await playground()
        let program = try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", setup(playground, newcomer),
            environment: playground.terminalEnvironment)
        for (count, password) in ["all-lower-case", Self.password].enumerated() {
            for prompt in ["New password for new@example.com: ", "gain: "] {
                _ = await program.read(until: prompt, count: count + 1)
                program.type("\(password)\n")
            }
            if count == 0 {
                _ = await program.read(until: "Try to register again? [Y/n] ")
                program.type("\n")
            }
        }
        _ = await program.read(until: "\nPassword for new@example.com: ")
        program.type("\u{3}")
        let end = await program.finish()

        #expect(end.status == 130 || end.status == 128 + SIGINT, "\(end.screen)")
        #expect(try await code(playground) != nil)
    }

    @Test(arguments: ["404", "429 retry-after=0", "500", "status"])
    func `an answer that no backend counts uses up no login`(answer: String) async throws {
        let playground = try await Playground(sandboxOptions: [
            "--dialect", "loop", "--quirks", "verified-signup,lockout",
        ])
        let sandbox = try #require(playground.sandbox)
        // `status`: the backend's own 403, for an address that is not verified.
        if answer == "status" {
            _ = try await playground.run(
                "auth", "register", "--email", Self.address, "--password-stdin",
                input: "\(Self.password)\n")
        } else {
            try await sandbox.addFault("POST /auth/login: \(answer) x3")
        }
        let email = answer == "status" ? Self.address : "demo@example.com"
        let password = answer == "status" ? Self.password : "Demo-Passw0rd!"
        func login() async throws -> ProgramResult {
            try await playground.run(
                "auth", "login", "--email", email, "--password-stdin", input: "\(password)\n")
        }

        for _ in 0..<3 { #expect(try await login().status != 0) }
        if let code = try await code(playground) {
            _ = try await playground.run("auth", "verify", "--email", email, "--code", code)
        }
        let last = try await login()

        #expect(last.status == 0, "\(last.errors)")
    }

    // MARK: the password

    @Test func `a forgotten password is replaced, at a terminal or by a script`() async throws {
        let playground = try await Playground(sandboxOptions: ["--dialect", "loop"])
        let email = "demo@example.com"
        func mail() async throws -> String {
            let port = try #require(playground.sandbox).port
            let mail = try JSONValue(
                try await LoopbackRequest.send("GET", "/_sandbox/mail", port: port))["mail"]
            return try #require(mail.elements.first { $0["to"].text == email }?["code"].text)
        }

        let asked = try await playground.run("auth", "reset-password", "--email", email)
        let code = try await mail()
        let weak = try await playground.run(
            "auth", "reset-password", "--email", email, "--code", code, "--password-stdin",
            input: "all-lower-case\n")
        let reset = try await playground.run(
            "auth", "reset-password", "--email", email, "--code", code, "--password-stdin",
            input: "Another-Passw0rd!\n")
        let old = try await playground.run(
            "auth", "login", "--email", email, "--password-stdin", input: "Demo-Passw0rd!\n")
        let new = try await playground.run(
            "auth", "login", "--email", email, "--password-stdin", input: "Another-Passw0rd!\n")
        let program = try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs",
            ["auth", "reset-password", "--email", email],
            environment: playground.terminalEnvironment)
        _ = await program.read(until: "Code from the mail to demo@example.com: ")
        program.type("\(try await mail())\n")
        for prompt in ["New password for demo@example.com: ", "gain: "] {
            _ = await program.read(until: prompt)
            program.type("Third-Passw0rd!\n")
        }
        let end = await program.finish()
        let third = try await playground.run(
            "auth", "login", "--email", email, "--password-stdin", input: "Third-Passw0rd!\n")

        #expect(asked.status == 0, "\(asked.errors)")
        #expect(
            asked.outputLines == [
                "the backend has mailed a code to demo@example.com",
                "set the new password with `clarity-jobs auth reset-password --email demo@example.com --code CODE`",
            ])
        #expect(
            weak.isRefusal(
                77,
                "clarity-jobs: the backend refused the new password: the password lacks a kind of character"
            ), "\(weak.errors)")
        #expect(reset.status == 0, "\(reset.errors)")
        #expect(
            reset.outputLines == [
                "demo@example.com has a new password",
                "log in with `clarity-jobs auth login --email demo@example.com`",
            ])
        #expect(old.status == 77 && new.status == 0, "\(old.errors)\(new.errors)")
        #expect(end.status == 0 && !end.screen.contains("Third-Passw0rd!"), "\(end.screen)")
        #expect(third.status == 0, "\(third.errors)")
    }

    @Test(arguments: [
        (["resend-code"], "the call `verification mail`"),
        (["reset-password"], "the call `password mail`"),
    ])
    func `a backend without mails for passwords and codes is named as such`(
        words: [String], what: String
    ) async throws {
        let playground = try await Playground(sandboxOptions: ["--dialect", "blueprint"])

        let result = try await playground.start(
            ["auth"] + words + ["--email", "demo@example.com"]
        ).finish()

        #expect(
            result.isRefusal(78, "clarity-jobs: the backend does not offer \(what)"),
            "\(result.errors)")
    }

    @Test func `an address without an account is named`() async throws {
        let playground = try await Playground(sandboxOptions: ["--dialect", "loop"])

        let results = [
            try await playground.run("auth", "resend-code", "--email", "nobody@example.com"),
            try await playground.run("auth", "reset-password", "--email", "nobody@example.com"),
        ]

        for result in results {
            #expect(
                result.isRefusal(
                    77, "clarity-jobs: the backend has no account with this e-mail address"),
                "\(result.errors)")
        }
    }

    // MARK: words

    @Test(
        arguments: [
            (
                "loop", "short", 77,
                "the new password is too weak: it needs 8 characters or more"
            ),
            (
                "blueprint", "all-lower-case", 77,
                "the new password is too weak: it needs 8 characters or more, and among them an upper-case letter, a lower-case letter, a digit and another character"
            ),
            (
                "loop", "all-lower-case", 77,
                "the backend refused the new password: the password lacks a kind of character"
            ),
        ] as [(String, String, Int32, String)])
    func `a refused password comes with the rule`(
        dialect: String, password: String, status: Int32, message: String
    ) async throws {
        let playground = try await Playground(sandboxOptions: ["--dialect", dialect])

        let result = try await playground.run(
            "auth", "register", "--email", Self.address, "--first-name", "New", "--last-name",
            "Person", "--accept-terms", "--password-stdin", input: "\(password)\n")

        #expect(result.isRefusal(status, "clarity-jobs: \(message)"), "\(result.errors)")
    }

    @Test func `a registration that the backend limits is called a registration`() async throws {
        let playground = try await Playground(
            sandboxOptions: ["--dialect", "loop", "--quirks", "retry-after-zero"])
        try await playground.sandbox?.addFault("POST /auth/register: 429 retry-after=0")

        let result = try await playground.run(
            "auth", "register", "--email", Self.address, "--password-stdin",
            input: "\(Self.password)\n")

        #expect(
            result.isRefusal(
                75,
                "clarity-jobs: the backend takes no further registration for now (429); try again in 1h"
            ), "\(result.errors)")
    }
}
