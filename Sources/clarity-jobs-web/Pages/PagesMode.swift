import HTTPServing
import HealthStore
import Platform
@preconcurrency import Glibc

/// `clarity-jobs-web pages`: serves the web pages until a signal ends the server.
struct PagesMode {
    private let program: [String]
    private let jobFile: String
    private let state: String
    private let address: String
    /// The words after the address; each is a name, or a name and a value.
    private let settings: [String: String]

    /// - Parameter words: those of the command line, at least 5.
    init(_ words: [String]) {
        program = [words[1], "--config=\(words[2])", "--state=\(words[3])"]
        jobFile = words[2]
        state = words[3]
        address = words[4]
        settings = words.dropFirst(5).reduce(into: [:]) { settings, word in
            let parts = word.split(separator: "=", maxSplits: 1)
            settings[String(parts[0])] = parts.count == 2 ? String(parts[1]) : ""
        }
    }

    /// - Parameter passed: a socket that listens on the address already.
    func run(_ passed: PassedSocket?) -> ExitStatus {
        let entrances = PageEntrances(
            jobFile: jobFile, stateDirectory: state, hasAccounts: settings["accounts"] != nil,
            environment: Environment.all())
        let access = entrances.main
        let outer = settings["behind"].flatMap { PageHosts.outer($0) }
        guard (settings["behind"] == nil) == (outer == nil) else {
            complain("`--behind` is an address such as `https://health.example`")
            return .usage
        }
        let identity: HTTPServer.Identity?
        do throws(BackupError) {
            identity = try self.identity()
        } catch {
            complain("\(error)".forReport)
            return .configuration
        }
        let isLoopback = ListenAddress(address)?.isLoopback ?? true
        if let refusal = refusal(
            isLoopback: isLoopback, isEncrypted: identity != nil, outer, access.hasPassword)
        {
            return refusal
        }
        let isEncrypted = identity != nil || outer != nil
        let events = ChangeEvents(stateDirectory: state)
        return Program.serve(
            "pages", address, passed, usual: 8799, at: identity == nil ? "http" : "https", "/",
            start: { listener in
                let port = listener.address.port
                let server = PageServer(
                    PageServer.Settings(
                        hosts: PageHosts(
                            listener.address, isEncrypted: identity != nil, outer: outer),
                        isReadOnly: settings["read-only"] != nil, isEncrypted: isEncrypted,
                        isBehindProxy: outer != nil),
                    port: port, entrances: entrances,
                    sessions: OpenSessions(PageSessions(stateDirectory: state), entrances),
                    commands: CommandPool(program: program, environment: environment),
                    events: events, runs: TokenRuns(stateDirectory: state))
                guard events.start() else { return nil }
                return HTTPServer(
                    listener, connections: 512, patience: 60, identity: identity,
                    service: server.accept)
            },
            // Whoever reads that the server listens may make a link at once.
            prepare: { server in note(address(of: server, identity, outer), access) },
            announce: { server in showLink(to: address(of: server, identity, outer), access) })
    }

    private func address(
        of server: HTTPServer, _ identity: HTTPServer.Identity?, _ outer: String?
    ) -> String {
        let host = server.address.isLoopback ? "127.0.0.1" : server.address.hostText
        return outer ?? "\(identity == nil ? "http" : "https")://\(host):\(server.address.port)"
    }

    /// Notes where the pages are, for `serve link`.
    private func note(_ address: String, _ access: PageAccess) {
        do throws(BackupError) {
            try access.note(address: address)
        } catch {
            complain("`serve link` cannot say where the pages are: \(error)".forReport)
        }
    }

    /// Shows a link to a person at a terminal. The link must not get into a journal.
    private func showLink(to address: String, _ access: PageAccess) {
        guard settings["quiet"] == nil, isatty(STDERR_FILENO) == 1 else { return }
        do throws(BackupError) {
            let token = try access.makeLink(at: SystemClock().now)
            complain("open \(address)/enter?token=\(token) (works once, for 10 minutes)")
        } catch {
            complain("cannot make a link: \(error)".forReport)
        }
    }

    private func identity() throws(BackupError) -> HTTPServer.Identity? {
        guard let certificate = settings["certificate"], let key = settings["key"] else {
            return nil
        }
        return HTTPServer.Identity(
            certificate: try Program.text(of: certificate), key: try Program.text(of: key))
    }

    /// Returns the status with which the server ends if others could read what it sends, or log in
    /// without a password; `nil` if it may start.
    private func refusal(
        isLoopback: Bool, isEncrypted: Bool, _ outer: String?, _ hasPassword: Bool
    ) -> ExitStatus? {
        guard isLoopback || isEncrypted || outer != nil else {
            complain(
                "others can read what is sent to `\(address)`; add --certificate and "
                    + "--private-key, or --behind with the address of a proxy that speaks TLS")
            return .usage
        }
        guard isLoopback && outer == nil || hasPassword else {
            complain("other machines can reach these pages, so they need a password")
            complain("help: clarity-jobs serve password")
            return .configuration
        }
        return nil
    }

    /// The environment of commands. Its `CLARITY_JOBS_` variables are options of this command, but
    /// for those of the key.
    private var environment: [String: String] {
        Environment.all().filter { name, _ in
            !name.hasPrefix("CLARITY_JOBS_")
                || ["CLARITY_JOBS_KEY", "CLARITY_JOBS_KEY_VARIABLE"].contains(name)
        }
    }
}
