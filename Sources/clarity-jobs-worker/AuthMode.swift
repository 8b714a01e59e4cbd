import Backend
import HealthStore
import HealthModel
import Reports
import ClarityScheduler
import Platform
import ClarityJobs
import JSON

/// Logs in and logs out, and everything that an account needs for that.
enum AuthMode {
    static func run(_ arguments: [String]) async -> ExitStatus {
        let names = [
            "email", "password", "data", "output", "first-name", "last-name", "name", "code",
        ]
        // The order comes later: without an action, nobody has to give one.
        let actions = [
            "login", "register", "verify", "resend-code", "reset-password", "logout",
        ]
        guard let action = arguments.first, actions.contains(action),
            let flags = Flags(
                Array(arguments.dropFirst()), values: names, switches: ["accept-terms", "of-table"])
        else { return Program.usageError("expected an action of `auth`") }
        guard let order = OrderInput.read() else { return .faultyInput }
        do {
            switch action {
            case "login": return try await login(flags, order)
            case "register": return try await register(flags, order)
            case "verify": return try await verify(flags, order)
            case "resend-code": return try await resendCode(flags, order)
            case "reset-password": return try await resetPassword(flags, order)
            case "logout": return try await Logout(flags, order).run()
            default: return Program.usageError("unknown action `auth \(action)`")
            }
        } catch let error as Flags.Missing {
            return Program.usageError("`--\(error.name)` is missing")
        } catch let error as PasswordEntry.Missing {
            complain(error.words)
            return .usage
        } catch APIError.rateLimited(let after?) {
            guard !flags.has("of-table") else {
                print(LimitedLogin.line(after))
                return .deferred
            }
            let names = ["login": "login", "register": "registration"]
            let what = names[action] ?? "request"
            complain(
                "the backend takes no further \(what) for now (429); try again in \(after.text)")
            return .deferred
        } catch let error as APIError {
            let status = ExitStatus(outcome(of: error))
            // A later login may succeed, and nothing was refused.
            switch error {
            case .loginsUsedUp, .emailNotVerified: return .deferred
            default: return status
            }
        } catch {
            return ExitStatus(of: error)
        }
    }

    private static func login(
        _ flags: Flags, _ order: AttemptOrder
    ) async throws -> ExitStatus {
        let email = try flags.value("email")
        let backend = try order.sections.neededBackend
        _ = try backend.dialectChoice()
        _ = try trust(backend)
        // Asks before the store is opened: a person may take their time, and may log out meanwhile.
        let entry = flags["password"].flatMap { PasswordEntry(rawValue: $0) } ?? .input
        let password = try entry.password(of: email)
        let client = try client(order, store(order))
        let session: Session
        do throws(APIError) {
            session = try await client.login(email: email, password: password)
        } catch {
            let mayAsk = entry.hasPerson && !flags.has("of-table")
            guard error == .emailNotVerified, mayAsk else { throw error }
            try await confirm(email, client)
            session = try await client.login(email: email, password: password)
        }
        flags.format.print(session.object) { [session.sentence] }
        return .done
    }

    /// Asks for the code from the mail until the backend takes one; mails another on request.
    ///
    /// - Throws: `APIError.emailNotVerified` if the person gives up; the backend's errors.
    private static func confirm(_ email: String, _ client: APIClient) async throws {
        complain("the account's e-mail address is not confirmed yet")
        while true {
            let code: Secret?
            do {
                code = try PasswordEntry.codeOrWish(of: email)
            } catch is PasswordEntry.Missing {
                throw APIError.emailNotVerified
            }
            do throws(APIError) {
                if let code {
                    try await client.verifyEmail(email, code: code)
                    return printError("confirmed \(email)".printable)
                }
                try await client.resendVerification(to: email)
                printError("the backend has mailed another code")
            } catch {
                guard error == .codeRefused else { throw error }
                complain(error.ruling.sentence)
            }
        }
    }

    /// Creates an account; whoever has to confirm the address is told so.
    private static func register(
        _ flags: Flags, _ order: AttemptOrder
    ) async throws -> ExitStatus {
        let email = try flags.value("email")
        let entry = flags["password"].flatMap { PasswordEntry(rawValue: $0) } ?? .input
        let password = try entry.newPassword(of: email)
        let result = try await client(order, store(order)).register(
            Registration(
                email: email, password: password, firstName: flags["first-name"],
                lastName: flags["last-name"], displayName: flags["name"],
                acceptsTerms: flags.has("accept-terms")))
        let registered = RegisteredAccount(
            email: email, needsVerification: result.needsVerification)
        flags.format.print(registered.object) {
            [
                "registered \(email)".printable,
                result.needsVerification
                    ? "the backend has mailed you a code, for which the first login asks".printable
                    : "log in with `clarity-jobs auth login --email \(email)`".printable,
            ]
        }
        return .done
    }

    /// Confirms the address with the code from the mail.
    private static func verify(
        _ flags: Flags, _ order: AttemptOrder
    ) async throws -> ExitStatus {
        let email = try flags.value("email")
        let code = try flags["code"].map { Secret($0) } ?? PasswordEntry.code(of: email)
        try await client(order, store(order)).verifyEmail(email, code: code)
        flags.format.print(ConfirmationResult.confirmed.object(email)) {
            ["confirmed \(email)".printable]
        }
        return .done
    }

    /// Has another code mailed, for `verify`.
    private static func resendCode(
        _ flags: Flags, _ order: AttemptOrder
    ) async throws -> ExitStatus {
        let email = try flags.value("email")
        try await client(order, store(order)).resendVerification(to: email)
        flags.format.print(ConfirmationResult.mailed.object(email)) {
            [
                "the backend has mailed another code to \(email)".printable,
                "confirm the address with `clarity-jobs auth verify --email \(email)`".printable,
            ]
        }
        return .done
    }

    /// Has a code mailed, and sets a new password with it. Without a person to ask for the code,
    /// this takes two calls.
    private static func resetPassword(
        _ flags: Flags, _ order: AttemptOrder
    ) async throws -> ExitStatus {
        let email = try flags.value("email")
        let entry = flags["password"].flatMap { PasswordEntry(rawValue: $0) } ?? .input
        let client = try client(order, store(order))
        let code: Secret
        if let given = flags["code"] {
            code = Secret(given)
        } else {
            try await client.forgotPassword(email)
            let mailed = "the backend has mailed a code to \(email)".printable
            guard entry.hasPerson else {
                flags.format.print(PasswordReset(email: email, isDone: false).object) {
                    [
                        mailed,
                        "set the new password with `clarity-jobs auth reset-password --email \(email) --code CODE`"
                            .printable,
                    ]
                }
                return .done
            }
            printError(mailed)
            code = try PasswordEntry.code(of: email)
        }
        let password = try entry.newPassword(of: email)
        try await client.resetPassword(email, code: code, newPassword: password)
        flags.format.print(PasswordReset(email: email, isDone: true).object) {
            [
                "\(email) has a new password".printable,
                "log in with `clarity-jobs auth login --email \(email)`".printable,
            ]
        }
        return .done
    }

    static func store(_ order: AttemptOrder) throws -> HealthStore {
        try HealthStore(
            stateDirectory: order.sections.state.directory,
            environment: keyEnvironment(for: order))
    }

    /// Creates a client that has no password to log in again with: here a person does that, or
    /// wants to be logged out.
    static func client(_ order: AttemptOrder, _ store: HealthStore) throws -> APIClient {
        let backend = try order.sections.neededBackend
        let transport: CurlTransport
        do throws(TransportError) {
            transport = try CurlTransport(version: programVersion, trust: backend.trust())
        } catch .refused(let why) {
            throw Failure(.configuration, why)
        } catch {
            throw Failure(.internalFault, "libcurl cannot start")
        }
        let limited = backend.limited(
            transport, in: try order.sections.state.limitsFolder, clock: SystemClock())
        return try backend.client(store, limited, clock: SystemClock())
    }

    private static func trust(_ backend: BackendOptions) throws -> CurlTransport.Trust {
        do throws(TransportError) {
            return try backend.trust()
        } catch {
            throw Failure(.configuration, error.description)
        }
    }
}
