import HTTPServing
import Platform
@preconcurrency import Glibc

@main enum Program {
    static func main() {
        exit(run(Array(CommandLine.arguments.dropFirst())))
    }

    /// Serves until a signal ends the server, and returns the exit status.
    private static func run(_ arguments: [String]) -> Int32 {
        let options: ServeOptions
        do {
            switch try Invocation(arguments) {
            case .help:
                print(helpText, terminator: "")
                return 0
            case .serve(let found): options = found
            }
        } catch {
            complain(error.description)
            return EX_USAGE
        }
        // Signals are blocked before any thread starts, so that every thread leaves them to
        // `sigwait`.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        signal(SIGPIPE, SIG_IGN)
        guard let server = start(options) else { return EX_UNAVAILABLE }
        if options.exitsWithInput, !endWithInput() {
            complain("cannot watch standard input")
            return EX_UNAVAILABLE
        }
        print(
            "clarity-jobs-sandbox listening on http://\(server.address.hostText):"
                + "\(server.address.port)\(options.settings.dialect.basePath)")
        fflush(stdout)
        var received: Int32 = 0
        while sigwait(&signals, &received) != 0 {}
        server.stop()
        return 0
    }

    /// Starts the server, or writes to standard error why it cannot and returns `nil`.
    private static func start(_ options: ServeOptions) -> HTTPServer? {
        if mkdir(options.directory, 0o700) != 0, errno != EEXIST {
            complain("cannot make `\(options.directory)`: \(SystemError(code: errno))")
            return nil
        }
        let service: Service
        do {
            let settable = options.settings.clockStart.map(SettableClock.init)
            service = try Service(
                store: try Store(directory: options.directory), settings: options.settings,
                routes: options.settings.dialect.makeRoutes(), faults: options.faults,
                clock: { settable?.now ?? Timestamp.now() },
                setClock: settable.map { settable in { settable.now = $0 } },
                complain: complain)
        } catch {
            complain("cannot use `\(options.directory)/sandbox.db`: \(error)")
            return nil
        }
        let address = "\(options.address.hostText):\(options.address.port)"
        do {
            guard let server = HTTPServer(service, try Listener(options.address)) else {
                complain("cannot serve on \(address)")
                return nil
            }
            return server
        } catch {
            complain("cannot listen on \(address): \(error)")
            return nil
        }
    }

    /// Sends this process SIGTERM when standard input ends; `false` if no thread can be created.
    private static func endWithInput() -> Bool {
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { _ in
                withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
                    while true {
                        let count = read(0, buffer.baseAddress, buffer.count)
                        if count > 0 || (count < 0 && errno == EINTR) { continue }
                        break
                    }
                }
                kill(getpid(), SIGTERM)
                return nil
            }, nil)
        if code == 0 { pthread_detach(thread) }
        return code == 0
    }

    private static func complain(_ text: String) {
        fputs("clarity-jobs-sandbox: \(text)\n", stderr)
    }
}
