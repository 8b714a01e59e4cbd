import ClarityHost
import HealthStore
import Reports
import ClarityScheduler
import Platform

/// The commands of `auth`.
///
/// All but `auth status` run in `clarity-jobs-worker`, which links the HTTP client.
struct AuthCommand: ComposedCommand {
    let composition: Composition

    func login() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        if let table = arguments["accounts-from"] {
            return try AccountLogins(composition).run(table)
        }
        let entry = arguments.has("password-stdin") ? "stdin" : "ask"
        try exec("login", ["--password", entry])
    }

    func register() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        var words = ["--password", arguments.has("password-stdin") ? "stdin" : "ask"]
        for name in ["first-name", "last-name", "name"] {
            if let value = arguments[name] { words += ["--\(name)", value] }
        }
        if arguments.has("accept-terms") { words.append("--accept-terms") }
        try exec("register", words)
    }

    func verify() throws(CommandFailure) -> ExitStatus { try exec("verify", code) }

    func resendCode() throws(CommandFailure) -> ExitStatus { try exec("resend-code", []) }

    func resetPassword() throws(CommandFailure) -> ExitStatus {
        let entry = composition.arguments.has("password-stdin") ? "stdin" : "ask"
        try exec("reset-password", ["--password", entry] + code)
    }

    private var code: [String] { composition.arguments["code"].map { ["--code", $0] } ?? [] }

    /// Becomes the worker, for an action on the address of `--email` or of the account.
    private func exec(_ action: String, _ words: [String]) throws(CommandFailure) -> Never {
        let file = try composition.jobFile()
        guard let email = composition.arguments["email"] ?? file.account?.login, !email.isEmpty
        else { throw CommandFailure(.usage, "`auth \(action)` wants --email EMAIL") }
        try composition.becomeWorker(
            ["auth", action, "--email", email] + words, try order(file), for: file)
    }

    /// `doctor --backend`.
    func checkBackend() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        try composition.becomeWorker(["backend"], try order(file), for: file)
    }

    func logout() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        let forgets = arguments.has("forget-data")
        guard forgets || !arguments.has("yes") else {
            throw CommandFailure(
                .usage,
                "`auth logout --yes` wants --forget-data, to delete the data without asking",
                "help: `clarity-jobs auth logout` asks nothing, and keeps the data")
        }
        let file = try composition.jobFile()
        let hasBackend = try composition.hasBackend(file)
        guard forgets || hasBackend else {
            throw CommandFailure(
                .configuration,
                "the job file has no `backend`, so nobody is logged in, and the data stays here",
                "help: --forget-data deletes it")
        }
        let data = forgets ? arguments.has("yes") ? "remove" : "ask" : "keep"
        try composition.becomeWorker(
            ["auth", "logout", "--data", data], try composition.order(.backend, file), for: file)
    }

    /// Returns an order for a mode of the worker that talks to the backend.
    func order(_ file: JobFile) throws(CommandFailure) -> AttemptOrder {
        _ = try composition.backend(file)
        return try composition.order(.backend, file)
    }

    /// Runs the worker, and returns what it wrote.
    private func captured(
        _ words: [String], _ file: JobFile, input: [UInt8]? = nil,
        environment: [String: String]
    ) throws(CommandFailure) -> (status: Int32, output: String, errors: String) {
        let handover = try OrderHandover(try composition.order(.backend, file))
        defer { handover.end() }
        return try ForegroundProgram.captured(
            [try composition.companion("clarity-jobs-worker")] + words
                + ["--output", composition.console.form.rawValue],
            input: input, outputs: [OrderHandover.descriptor: handover.file],
            environment: environment)
    }

    /// Ends the session of a job file's account and deletes its data, as
    /// `auth logout --forget-data --yes` does.
    func endForGood(
        _ file: JobFile, _ environment: [String: String]
    ) throws(CommandFailure) -> (status: Int32, output: String, errors: String) {
        try captured(["auth", "logout", "--data", "remove"], file, environment: environment)
    }

    /// Logs an account of a job file in, as `auth login` does for an address that is confirmed. If
    /// the backend's limiter refuses the login, the output is a `LimitedLogin`.
    ///
    /// - Parameter password: the password; without it, the account's credential or a person gives it.
    func logIn(
        _ email: String, _ password: String?, _ file: JobFile
    ) throws(CommandFailure) -> (status: Int32, output: String, errors: String) {
        let words = [
            "auth", "login", "--email", email, "--password", password == nil ? "ask" : "stdin",
            "--of-table",
        ]
        _ = try composition.backend(file)
        return try captured(
            words, file, input: password.map { Array("\($0)\n".utf8) },
            environment: try composition.keyedEnvironment(file))
    }

    func status() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        _ = try composition.backend(file)
        let now = SystemClock().now
        guard let store = try composition.healthStore(file, as: "auth status") else {
            throw CommandFailure(HealthStoreError.loggedOut)
        }
        let status = try usingHealthData { () throws(HealthStoreError) in
            try SessionStatus(store, at: now)
        }
        guard let status else {
            let lines = try usingHealthData { () throws(HealthStoreError) in
                try SessionStatus.farewell(store, at: now)
            }
            var failure = CommandFailure(HealthStoreError.loggedOut)
            failure.lines += lines
            throw failure
        }
        composition.console.results(status.lines, status)
        return status.refusedSince == nil ? .done : .credential
    }
}
