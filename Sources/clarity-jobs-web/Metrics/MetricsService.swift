import HTTPServing
import Platform

/// Answers Prometheus: `GET /metrics`, and nothing else.
final class MetricsService {
    private let collector: MetricsCollector
    /// Whether only this machine can connect.
    private let isLoopback: Bool
    /// What was last said about missing metrics, which is said once, however often it is met in a
    /// row.
    private var problem: String?

    init(_ collector: MetricsCollector, isLoopback: Bool) {
        self.collector = collector
        self.isLoopback = isLoopback
    }

    func accept(_ request: RequestHead) -> Exchange {
        let (method, path, host) = (request.method, request.path, request["Host"])
        return Exchange { self.answer(method, path, host: host) }
    }

    private func answer(_ method: String, _ path: String, host: String?) -> Answer {
        guard ["GET", "HEAD"].contains(method) else {
            return Answer(
                status: 405, text: "only GET and HEAD are answered\n",
                headers: ["Allow": "GET, HEAD"])
        }
        // A web page may have made its own name point to this machine, to read the answer.
        guard !isLoopback || host.map(isLocal) ?? true else {
            return Answer(status: 403, text: "ask for 127.0.0.1 or localhost\n")
        }
        guard path == "/metrics" else {
            return Answer(status: 404, text: "there is only /metrics\n")
        }
        do throws(MetricsCollector.Fault) {
            let report = try collector.report()
            say(report.healthFault.map { "no metrics of the health data: \($0)" })
            return Answer(
                status: 200, type: PrometheusText.contentType,
                text: PrometheusText.text(report.families))
        } catch {
            say("no metrics: \(error.reason)")
            // The reason may name a path, which concerns nobody on the network.
            return Answer(status: 503, text: "no metrics; the journal says why\n")
        }
    }

    private func say(_ text: String?) {
        if let text, text != problem { complain(text.forReport) }
        problem = text
    }

    private func isLocal(_ host: String) -> Bool {
        let name = host.prefix { $0 != ":" }
        return name == "localhost" || ListenAddress("\(name):0") != nil
    }
}
