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
        guard settings["lan"] == nil || isLoopback else {
            complain(
                "with `--lan`, the address of `--listen` is of this machine alone, such as "
                    + "`127.0.0.1:8799`; got `\(address.printable)`")
            return .usage
        }
        if let refusal = refusal(
            isLoopback: isLoopback, isEncrypted: identity != nil, outer, access.hasPassword)
        {
            return refusal
        }
        let isEncrypted = identity != nil || outer != nil
        let events = ChangeEvents(stateDirectory: state)
        let sessions = OpenSessions(PageSessions(stateDirectory: state), entrances)
        let commands = CommandPool(program: program, environment: environment)
        let (runs, attempts) = (TokenRuns(stateDirectory: state), CountedAttempts())
        let isReadOnly = settings["read-only"] != nil
        func start(
            _ listener: consuming Listener, _ hosts: PageHosts, _ identity: HTTPServer.Identity?,
            _ isEncrypted: Bool, _ isBehindProxy: Bool
        ) -> HTTPServer? {
            let server = PageServer(
                PageServer.Settings(
                    hosts: hosts, isReadOnly: isReadOnly, isEncrypted: isEncrypted,
                    isBehindProxy: isBehindProxy),
                port: listener.address.port, entrances: entrances, sessions: sessions,
                commands: commands, events: events, runs: runs, attempts: attempts)
            return HTTPServer(
                listener, connections: 512, patience: 60, identity: identity,
                service: server.accept)
        }
        var local: LocalServers?
        func shownAddress(of server: HTTPServer) -> String {
            let host = server.address.isLoopback ? "127.0.0.1" : server.address.hostText
            return local?.address ?? outer
                ?? "\(identity == nil ? "http" : "https")://\(host):\(server.address.port)"
        }
        defer { local?.stop() }
        return Program.serve(
            "pages", address, passed, usual: 8799, at: identity == nil ? "http" : "https",
            "/",
            start: { listener in
                let hosts = PageHosts(listener.address, isEncrypted: identity != nil, outer: outer)
                guard events.start() else { return nil }
                return start(listener, hosts, identity, isEncrypted, outer != nil)
            },
            prepare: { server in
                if settings["lan"] != nil {
                    let port = server.address.port
                    let servers = LocalServers(stateDirectory: state, port: port) {
                        start($0, PageHosts($2, port: port), $1, true, false)
                    }
                    do throws(LocalServers.Fault) {
                        _ = try servers.follow(at: SystemClock().now)
                    } catch {
                        complain("\(error)".forReport)
                        return error.status
                    }
                    local = servers
                }
                // Whoever reads that the server listens may make a link at once.
                note(shownAddress(of: server), access)
                return nil
            },
            announce: { server in
                local?.report()
                showLink(to: shownAddress(of: server), access, withCode: local != nil)
            },
            everyMinute: settings["lan"] == nil
                ? nil
                : {
                    guard let servers = local, servers.keepUp(at: SystemClock().now),
                        let address = servers.address
                    else { return }
                    note(address, access)
                })
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
    ///
    /// - Parameter withCode: whether to show it as a QR code too, for the camera of a phone.
    private func showLink(to address: String, _ access: PageAccess, withCode: Bool) {
        guard settings["quiet"] == nil, isatty(STDERR_FILENO) == 1 else { return }
        do throws(BackupError) {
            let link = "\(address)/enter?token=\(try access.makeLink(at: SystemClock().now))"
            complain("open \(link) (works once, for 10 minutes)")
            guard withCode else { return }
            do throws(QRCode.Fault) {
                fputs(
                    try QRCode(link).text(columns: TerminalLine.columns(of: STDERR_FILENO)), stderr)
            } catch {
                complain("no QR code: \(error)")
            }
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
