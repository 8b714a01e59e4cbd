import Backend
import BackendContract
import HealthStore
import HealthModel
import Reports
import ClarityScheduler
import Platform
import ClarityJobs

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
                complain(error.classification.sentence)
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
            transport, of: store, in: try order.sections.state.limitsFolder,
            clock: SystemClock())
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

/// Logs out: informs the backend, and forgets the session or removes everything that belongs to the
/// user.
///
/// It does not wait for attempts that run meanwhile. At its next write, each of them finds that it
/// may no longer write to the store (`HealthStore.wipe`).
struct Logout {
    private let flags: Flags
    private let order: AttemptOrder

    init(_ flags: Flags, _ order: AttemptOrder) { (self.flags, self.order) = (flags, order) }

    func run() async throws -> ExitStatus {
        // A logout without a store creates none.
        let state = try order.sections.state.directory
        guard HealthStore.exists(in: state, environment: try keyEnvironment(for: order)) else {
            return try nothing()
        }
        let store = try AuthMode.store(order)
        // An account without a backend has data, and no session to end.
        let client = try order.sections.backend == nil ? nil : AuthMode.client(order, store)
        guard let data = flags["data"], data != "keep" else {
            try await client?.logout()
            flags.format.print(LogoutResult(nil).object) {
                ["logged out; the data stays on this machine"]
            }
            return .done
        }
        guard try store.hasUserData() else {
            // Removes what an earlier logout could not remove.
            _ = try store.wipe()
            try removeCopies(store)
            return try nothing()
        }
        if data == "ask", let refusal = try unlessAgreed(store) { return refusal }
        var fault: APIError?
        do throws(APIError) {
            try await client?.endSession()
        } catch .notLoggedIn {
            // The session has already ended; what it left is removed below.
        } catch {
            fault = error
        }
        let receipt = try store.wipe()
        try removeCopies(store)
        flags.format.print(LogoutResult(receipt).object) {
            LogoutReport.lines(receipt, hasBackend: client != nil)
        }
        // The backend was not informed, or refused; all data on this machine is gone nevertheless.
        return fault.map { ExitStatus(outcome(of: $0)) } ?? .done
    }

    /// Ends a logout that finds nobody and nothing.
    private func nothing() throws -> ExitStatus {
        guard try order.sections.backend == nil else { throw APIError.notLoggedIn }
        complain("no health data is kept here")
        return .missingInput
    }

    /// Removes the other copies of the data in the state directory: its backups, the files that
    /// restores have moved aside, and the draft of a killed restore. Copies elsewhere are left to
    /// the person.
    ///
    /// - Parameter store: an open store, which keeps restores from making a new draft.
    private func removeCopies(_ store: HealthStore) throws {
        defer { withExtendedLifetime(store) {} }
        let state = try order.sections.state.directory
        do throws(BackupError) {
            try BackupFolder(ofState: state).removeAll()
            try Replacement(in: state).removeDraft()
            try Replacement.removeAsides(in: state)
        } catch {
            throw HealthStoreError.copies(error)
        }
    }

    /// Returns the address of the account; `nil` if it is unknown or its record is damaged. Damage
    /// must not keep anybody from removing the data.
    private func email(_ store: HealthStore) throws(HealthStoreError) -> String? {
        do throws(HealthStoreError) {
            return try store.sessions.record()?.email
        } catch {
            guard case .encryption = error else { throw error }
            return nil
        }
    }

    /// Returns the exit status if the person does not agree; `nil` if they do.
    private func unlessAgreed(_ store: HealthStore) throws -> ExitStatus? {
        guard let terminal = Terminal() else {
            complain(
                "there is no terminal to ask on whether to remove all data; use --yes to remove it, "
                    + "or leave out --forget-data")
            return .usage
        }
        let question = LogoutReport.question(
            email: try email(store), unsent: try store.outbox.unsentCount(),
            hasBackend: try order.sections.backend != nil)
        guard terminal.agrees(to: question) else {
            complain("nothing was done")
            return .failed
        }
        return nil
    }
}
