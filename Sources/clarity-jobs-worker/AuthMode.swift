import ClarityClient
import ClarityTransport
import ClarityContract
import ClarityJobs
import ClarityReports
import ClarityScheduler
import ClaritySystem
import ClarityWorkers

/// Logs in and logs out.
enum AuthMode {
    static func run(_ arguments: [String]) async -> ExitStatus {
        guard let action = arguments.first, let flags = AuthFlags(Array(arguments.dropFirst()))
        else { return Program.usageError("expected `auth login` or `auth logout`") }
        do {
            switch action {
            case "login": return try await login(flags)
            case "logout": return try await Logout(flags).run()
            default: return Program.usageError("unknown action `auth \(action)`")
            }
        } catch let error as AuthFlags.Missing {
            return Program.usageError("`--\(error.name)` is missing")
        } catch let error as PasswordEntry.Missing {
            complain(error.words)
            return .usage
        } catch APIError.rateLimited(let after?) {
            complain(
                "the backend takes no further login for now (429); try again in \(after.text)")
            return .deferred
        } catch let error as APIError {
            let status = ExitStatus(outcome(of: error))
            // A later login may succeed, and nothing was refused.
            if case .loginsUsedUp = error { return .deferred }
            return status
        } catch {
            return ExitStatus(of: error)
        }
    }

    private static func login(_ flags: AuthFlags) async throws -> ExitStatus {
        let email = try flags.value("email")
        for name in ["backend", "state"] { _ = try flags.value(name) }
        _ = try flags.dialect()
        _ = try trust(flags)
        // Asks before the store is opened: a person may take their time, and may log out meanwhile.
        let password = try flags.password.password(of: email)
        let session = try await client(flags, store(flags)).login(email: email, password: password)
        print(session.sentence)
        return .done
    }

    static func store(_ flags: AuthFlags) throws -> HealthStore {
        announced(
            try HealthStore(stateDirectory: flags.value("state"), environment: keyEnvironment()))
    }

    /// Creates a client that has no password to log in again with: here a person does that, or
    /// wants to be logged out.
    static func client(_ flags: AuthFlags, _ store: HealthStore) throws -> APIClient {
        let backend = try flags.value("backend")
        let transport: CurlTransport
        do throws(TransportError) {
            transport = try CurlTransport(version: programVersion, trust: flags.trust())
        } catch .refused(let why) {
            throw Failure(.configuration, why)
        } catch {
            throw Failure(.internalFault, "libcurl cannot start")
        }
        return APIClient(
            base: backend, dialect: try flags.dialect(), memory: StoredDialects(store),
            transport: transport, sessions: StoredSessions(store, backend: backend),
            clock: SystemClock(), retryWait: flags.retryWait)
    }

    private static func trust(_ flags: AuthFlags) throws -> CurlTransport.Trust {
        do throws(TransportError) {
            return try flags.trust()
        } catch {
            throw Failure(.configuration, error.description)
        }
    }
}
