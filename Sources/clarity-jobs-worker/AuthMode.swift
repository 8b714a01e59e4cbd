import ClarityJobs
import ClarityScheduler
import ClaritySystem
import ClarityWorkers

/// Logs in, logs out, and says who is logged in.
enum AuthMode {
    static func run(_ arguments: [String]) async -> ExitStatus {
        guard let action = arguments.first, let flags = AuthFlags(Array(arguments.dropFirst()))
        else { return Program.usageError("expected `auth login`, `auth logout` or `auth status`") }
        do {
            switch action {
            case "login": return try await login(flags)
            case "logout": return try await logout(flags)
            case "status": return try status(flags)
            default: return Program.usageError("unknown action `auth \(action)`")
            }
        } catch let error as AuthFlags.Missing {
            return Program.usageError("`--\(error.name)` is missing")
        } catch {
            return ExitStatus(of: error)
        }
    }

    private static func login(_ flags: AuthFlags) async throws -> ExitStatus {
        let email = try flags.value("email")
        let client = try client(flags)
        guard let password = readLine(), !password.isEmpty else {
            complain("no password on standard input; wanted one line with it")
            return .usage
        }
        let session = try await client.login(email: email, password: Secret(password))
        print(session.sentence)
        return .done
    }

    private static func logout(_ flags: AuthFlags) async throws -> ExitStatus {
        guard HealthStore.exists(in: try flags.value("state")) else { throw APIError.notLoggedIn }
        try await client(flags).logout()
        print("logged out")
        return .done
    }

    private static func status(_ flags: AuthFlags) throws -> ExitStatus {
        let state = try flags.value("state")
        // Asking makes nothing.
        guard HealthStore.exists(in: state),
            let session = try HealthStore(
                stateDirectory: state, environment: keyEnvironment()
            ).load()
        else { throw APIError.notLoggedIn }
        print(flags.isJSON ? session.json : session.sentence)
        return .done
    }

    private static func client(_ flags: AuthFlags) throws -> APIClient {
        let backend = try flags.value("backend")
        let store = try HealthStore(
            stateDirectory: flags.value("state"), environment: keyEnvironment())
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
            transport: transport,
            sessions: StoredSessions(store, backend: backend), clock: SystemClock(),
            retryWait: flags.retryWait)
    }
}

/// `--name value` pairs.
struct AuthFlags {
    /// A flag that is needed and not given.
    struct Missing: Error {
        var name: String
    }

    private static let names = [
        "email", "backend", "dialect", "ca-bundle", "pins", "state", "retry-wait", "output",
    ]
    private var values: [String: String] = [:]

    /// `nil` for anything but known flags with their values.
    init?(_ arguments: [String]) {
        guard arguments.count.isMultiple(of: 2) else { return nil }
        for index in stride(from: 0, to: arguments.count, by: 2) {
            let name = String(arguments[index].dropFirst(2))
            guard arguments[index].hasPrefix("--"), AuthFlags.names.contains(name),
                values[name] == nil
            else { return nil }
            values[name] = arguments[index + 1]
        }
        guard values["retry-wait"].map({ (1...60_000).contains(Int64($0) ?? 0) }) ?? true else {
            return nil
        }
        guard values["output"].map({ ["table", "json", "ndjson"].contains($0) }) ?? true else {
            return nil
        }
    }

    /// Whether the answer is to be JSON.
    var isJSON: Bool { ["json", "ndjson"].contains(values["output"]) }

    func value(_ name: String) throws(Missing) -> String {
        guard let value = values[name], !value.isEmpty else { throw Missing(name: name) }
        return value
    }

    /// The backend's contract, or that it is to be found out.
    func dialect() throws(Failure) -> DialectChoice {
        try WorkOptions.dialect(named: values["dialect"])
    }

    /// Which servers are believed to be the backend; the pins come one on each line.
    func trust() throws(TransportError) -> CurlTransport.Trust {
        try CurlTransport.Trust(authorities: values["ca-bundle"], pinLines: values["pins"])
    }

    /// The wait before a request is repeated, 1 s unless given.
    var retryWait: Duration {
        .milliseconds(values["retry-wait"].flatMap { Int64($0) } ?? 1000)
    }
}
