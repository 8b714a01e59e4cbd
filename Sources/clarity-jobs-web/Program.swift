import CLinux
import ClarityMetrics
import ClaritySystem
@preconcurrency import Glibc
import HTTPServing
import Synchronization

/// `clarity-jobs-web`: what is served to other programs. `clarity-jobs` starts it, in a process of
/// its own for each of its tasks.
///
///     clarity-jobs-web exporter JOBFILE STATE ADDRESS   serves the metrics to Prometheus
///     clarity-jobs-web textfile JOBFILE STATE           writes the job file's `metrics_textfile`
@main
enum Program {
    static func main() {
        signal(SIGPIPE, SIG_IGN)
        umask(0o077)
        let words = Array(CommandLine.arguments.dropFirst())
        // The master key is in this process's memory while the health data is open.
        if clinux_forbid_core_dump(getpid()) != 0 || clinux_keep_memory_private() != 0 {
            complain("cannot close this process's memory to others")
        }
        switch words.count {
        case 4 where words[0] == "exporter": exit(serve(collector(words), words[3]).rawValue)
        case 3 where words[0] == "textfile": exit(write(collector(words)).rawValue)
        default:
            complain("this program is started by `clarity-jobs exporter`")
            exit(ExitStatus.usage.rawValue)
        }
    }

    private static func collector(_ words: [String]) -> MetricsCollector {
        MetricsCollector(
            jobFile: words[1], state: words[2], environment: environment, clock: SystemClock())
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

    // MARK: The exporter

    /// Serves until a signal ends the server, and returns the exit status.
    private static func serve(_ collector: MetricsCollector, _ text: String) -> ExitStatus {
        guard let wanted = ListenAddress(text) else {
            complain(
                "`--listen \(text.printable)` is no IPv4 address with a port; write it as "
                    + "`127.0.0.1:9187`")
            return .usage
        }
        // Signals are blocked before any thread starts, so that every thread leaves them to
        // `sigwait`.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let server: PageServer?
        do throws(SystemError) {
            server = PageServer(try Listener(wanted), pages: pages(collector))
        } catch {
            complain(
                "cannot listen on \(wanted.hostText):\(wanted.port): \("\(error)".lowercased())")
            return .unreachable
        }
        guard let server else {
            complain("cannot start a thread")
            return .unreachable
        }
        complain(
            "exporter listening on http://\(server.address.hostText):\(server.address.port)/metrics"
        )
        var received: Int32 = 0
        while sigwait(&signals, &received) != 0 {}
        server.stop()
        return ExitStatus(rawValue: 128 + received) ?? .terminated
    }

    private static func pages(_ collector: MetricsCollector) -> PageServer.Pages {
        let complaints = Complaints()
        return { path in
            guard path == "/metrics" else { return nil }
            do throws(MetricsCollector.Fault) {
                let families = try collector.report().families
                complaints.note(nil)
                return PageServer.Page(
                    status: 200, type: PrometheusText.contentType,
                    text: PrometheusText.text(families))
            } catch {
                // The reason may name a path, which concerns nobody on the network.
                complaints.note(error.reason)
                return PageServer.Page(status: 503, text: "no metrics; the journal says why\n")
            }
        }
    }

    /// Writes a reason once, however often it is met in a row.
    private final class Complaints: Sendable {
        private let last = Mutex<String?>(nil)

        func note(_ reason: String?) {
            let isNew = last.withLock { last in
                defer { last = reason }
                return last != reason
            }
            if isNew, let reason { complain("no metrics: \(reason.forReport)") }
        }
    }

    fileprivate static func complain(_ text: String) {
        fputs("clarity-jobs: \(text)\n", stderr)
    }

    private static var environment: [String: String] {
        var result: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let pair = String(cString: entry).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if pair.count == 2 { result[String(pair[0])] = String(pair[1]) }
            next += 1
        }
        return result
    }
}
