import HTTPServing
import CLinux
import HealthStore
import Platform
@preconcurrency import Glibc

/// `clarity-jobs-web`: what is served to other programs. `clarity-jobs` starts it, in a process of
/// its own for each of its tasks.
///
///     clarity-jobs-web exporter JOBFILE STATE ADDRESS   serves the metrics to Prometheus
///     clarity-jobs-web textfile JOBFILE STATE           writes the job file's `metrics_textfile`
///     clarity-jobs-web receive FOLDER BENEATH STATE ADDRESS [CERTIFICATE KEY]
///                                                       takes pushes into a folder, and follows no
///                                                       link to it below BENEATH, if that is not
///                                                       empty
///     clarity-jobs-web pages PROGRAM JOBFILE STATE ADDRESS [read-only] [behind=URL]
///                            [certificate=FILE key=FILE] [lan] [quiet]
///                                                       serves the web pages
///     clarity-jobs-web mcp PROGRAM JOBFILE STATE ALLOWED [ACCOUNT]
///                                                       answers the questions of an assistant
///     clarity-jobs-web version                          prints its libraries, a line each
@main
enum Program {
    static func main() {
        signal(SIGPIPE, SIG_IGN)
        umask(0o077)
        var words = Array(CommandLine.arguments.dropFirst())
        // Health data passes through this process's memory, and in some modes the master key.
        if clinux_forbid_core_dump(getpid()) != 0 || clinux_keep_memory_private() != 0 {
            complain("cannot close this process's memory to others")
        }
        let passed: PassedSocket?
        do throws(PassedSocket.Fault) {
            passed = try PassedSocket.take()
        } catch {
            complain("\(error)")
            exit(ExitStatus.configuration.rawValue)
        }
        // The socket has the address in place of `--listen`.
        if let address = passed?.address, let place = addressPlaces[words.first ?? ""],
            words.indices.contains(place)
        {
            words[place] = "\(address.hostText):\(address.port)"
        }
        switch words.count {
        case 1 where words[0] == "version":
            for library in LibraryVersion.loaded() { print(library.name, library.version) }
            exit(ExitStatus.done.rawValue)
        case 4 where words[0] == "exporter":
            exit(export(collector(words), words[3], passed).rawValue)
        case 3 where words[0] == "textfile": exit(write(collector(words)).rawValue)
        case 5 where words[0] == "receive", 7 where words[0] == "receive":
            exit(receive(Array(words.dropFirst()), passed).rawValue)
        case 5 where words[0] == "mcp", 6 where words[0] == "mcp":
            exit(AssistantServer(words).run().rawValue)
        case 5... where words[0] == "pages": exit(PagesMode(words).run(passed).rawValue)
        default:
            complain(
                "this program is started by `clarity-jobs exporter`, `receive`, `serve` or `mcp`")
            exit(ExitStatus.usage.rawValue)
        }
    }

    /// Which word is the address, by mode.
    private static let addressPlaces = ["exporter": 3, "receive": 4, "pages": 4]

    private static func collector(_ words: [String]) -> MetricsCollector {
        MetricsCollector(
            jobFile: words[1], state: words[2], environment: Environment.all(),
            clock: SystemClock())
    }

    // MARK: The textfile

    private static func write(_ collector: MetricsCollector) -> ExitStatus {
        do throws(MetricsCollector.Fault) {
            try collector.writeTextfile()
            return .done
        } catch {
            complain("no metrics: \(error.reason.forReport)")
            return .failed
        }
    }

    // MARK: Servers

    /// Serves metrics until a signal ends the server, and returns the exit status.
    private static func export(
        _ collector: MetricsCollector, _ address: String, _ passed: PassedSocket?
    ) -> ExitStatus {
        serve("exporter", address, passed, usual: 9187, at: "http", "/metrics") { listener in
            let service = MetricsService(collector, isLoopback: listener.address.isLoopback)
            return HTTPServer(listener, connections: 16, patience: 10, service: service.accept)
        }
    }

    /// Receives pushes until a signal ends the server, and returns the exit status.
    private static func receive(_ words: [String], _ passed: PassedSocket?) -> ExitStatus {
        let (folder, beneath, state, address) = (words[0], words[1], words[2], words[3])
        let isEncrypted = words.count == 6
        guard isEncrypted || ListenAddress(address)?.isLoopback ?? true else {
            complain(
                "others can read what is sent to `\(address)`; add --certificate and --private-key, "
                    + "or listen on 127.0.0.1")
            return .usage
        }
        let receiver: PushReceiver
        var identity: HTTPServer.Identity?
        let tokens = BearerTokens.ofPushes(stateDirectory: state)
        do {
            if isEncrypted {
                identity = HTTPServer.Identity(
                    certificate: try text(of: words[4]), key: try text(of: words[5]))
            }
            let spool = try PushSpool(path: folder, beneath: beneath.isEmpty ? nil : beneath)
            receiver = PushReceiver(spool, tokens, SystemClock())
            if try tokens.list().isEmpty {
                complain("there is no token yet: clarity-jobs receive token add NAME")
            }
        } catch let error as StateDirectoryError {
            complain("cannot use `\(error.path)`: \(error.problem)")
            return .configuration
        } catch {
            complain("\(error)".forReport)
            return .configuration
        }
        return serve(
            "receiver", address, passed, usual: 9188, at: isEncrypted ? "https" : "http",
            PushReceiver.path
        ) { listener in
            HTTPServer(
                listener, connections: 64, patience: 30, identity: identity,
                service: receiver.accept)
        }
    }

    static func text(of path: String) throws(BackupError) -> String {
        do throws(WholeFile.Fault) {
            return String(decoding: try WholeFile.bytes(of: path, atMost: 1 << 20), as: UTF8.self)
        } catch .refused(let code) {
            throw .file(path: path, errno: code)
        } catch {
            throw .unusable(path: path, problem: "it is too large")
        }
    }

    /// Listens on an address, says so, and serves until a signal ends the server.
    ///
    /// - Parameters:
    ///   - passed: a socket that listens on the address already.
    ///   - prepare: called once the server answers, before it says so; a status ends it at once.
    ///   - announce: called once it has said so.
    ///   - everyMinute: called as often until the server ends.
    static func serve(
        _ name: String, _ text: String, _ passed: PassedSocket?, usual port: Int,
        at scheme: String, _ path: String,
        start: (consuming Listener) -> HTTPServer?,
        prepare: (HTTPServer) -> ExitStatus? = { _ in nil },
        announce: (HTTPServer) -> Void = { _ in }, everyMinute: (() -> Void)? = nil
    ) -> ExitStatus {
        guard let wanted = ListenAddress(text) else {
            complain(
                "`--listen \(text.printable)` is no IPv4 address with a port; write it as "
                    + "`127.0.0.1:\(port)`")
            return .usage
        }
        // Signals are blocked before any thread starts, so that every thread leaves them to
        // `sigwait`.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let server: HTTPServer?
        do throws(SystemError) {
            server = start(try listener(wanted, passed))
        } catch {
            complain(
                "cannot listen on \(wanted.hostText):\(wanted.port): \("\(error)".lowercased())")
            return .unreachable
        }
        guard let server else {
            complain(
                scheme == "https"
                    ? "cannot use the certificate and its key, or start a thread"
                    : "cannot start a thread")
            return .unreachable
        }
        if let status = prepare(server) {
            server.stop()
            return status
        }
        complain(
            "\(name) listening on "
                + "\(scheme)://\(server.address.hostText):\(server.address.port)\(path)")
        announce(server)
        var received: Int32 = 0
        var minute = timespec(tv_sec: 60, tv_nsec: 0)
        while received <= 0 {
            guard let everyMinute else {
                sigwait(&signals, &received)
                continue
            }
            received = sigtimedwait(&signals, nil, &minute)
            if received < 0, errno == EAGAIN { everyMinute() }
        }
        server.stop()
        return ExitStatus(rawValue: 128 + received) ?? .terminated
    }

    private static func listener(
        _ wanted: ListenAddress, _ passed: PassedSocket?
    ) throws(SystemError) -> Listener {
        if let passed { return Listener(passed) }
        return try Listener(wanted)
    }
}

/// Writes a line to the log.
func complain(_ text: String) { fputs("clarity-jobs: \(text)\n", stderr) }
