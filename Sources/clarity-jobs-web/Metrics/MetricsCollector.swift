import ClarityHost
import HealthStore
import ClarityScheduler
import Platform
import HTTPServing
@preconcurrency import Glibc

/// Reads the state of a job file's jobs, and of the health data if it can be opened.
///
/// It keeps nothing open: an open store would hold up a restore and a change of the master key.
struct MetricsCollector: Sendable {
    /// Why there are no metrics, as a fragment that names no secret.
    struct Fault: Error, Hashable, Sendable {
        let reason: String
    }

    private let path: String
    private let state: String
    private let environment: [String: String]
    private let reader: JobFileReader
    private let clock: any WallClock

    /// Creates a collector.
    ///
    /// - Parameters:
    ///   - path: the absolute path of the job file, which is read anew each time.
    ///   - state: the path of the state directory.
    ///   - environment: the environment in which the master key is found.
    init(
        jobFile path: String, state: String, environment: [String: String], clock: any WallClock
    ) {
        self.path = path
        self.state = state
        self.environment = environment
        self.clock = clock
        var catalogue = clarityCatalogue
        catalogue.kinds.append(.command)
        reader = JobFileReader(
            catalogue: catalogue, environment: environment, workingDirectory: "/")
    }

    /// Reads the job file.
    func jobFile() throws(Fault) -> JobFile {
        do throws(JobFileFaults) {
            var reader = reader
            reader.holdsFaulty = true
            return try reader.read(fileAt: path)
        } catch {
            let fault = Fault(reason: "the job file has an error; see `clarity-jobs validate`")
            let former: JobFile?
            do throws(BackupError) {
                former = try ValidJobFile(inState: state).read(path, reader)
            } catch {
                throw fault
            }
            guard var file = former else { throw fault }
            file.laterFault = fault.reason
            return file
        }
    }

    /// Returns what there is to report now.
    ///
    /// - Throws: `Fault` if the job file or the history cannot be read. Without the health data the
    ///   report says why it has none.
    func report() throws(Fault) -> MetricsReport {
        let file = try jobFile()
        var report = MetricsReport()
        report.isJobFileFaulty = file.laterFault != nil
        report.heldJobs = file.held.count
        report.heldAccounts = (file.accounts ?? []).count { $0.fault != nil }
        do throws(RunStoreError) {
            let history = try RunHistory(of: file, inDirectory: state, environment: environment)
            report.totals = try history.totals(at: clock.now)
            report.loops = try history.loops()
            try read(history, of: file, into: &report)
        } catch {
            throw Fault(reason: error.description)
        }
        do throws(Failure) {
            let goals = try file.sections.freshness
            let keyVariable = try file.sections.key.variable
            let hasBackend = try file.sections.backend != nil
            do throws(HealthStoreError) {
                report.health = try health(file, goals, keyVariable, hasBackend: hasBackend)
            } catch {
                throw error.failure
            }
        } catch {
            report.healthFault = error.reason
        }
        return report
    }

    private func read(
        _ history: borrowing RunHistory, of file: JobFile, into report: inout MetricsReport
    ) throws(RunStoreError) {
        let ledger = try history.ledger()
        let ends = try history.lastEnds()
        let moment = clock.moment
        let planner = Planner(
            jobs: JobSet(file.groups), owner: "", maxParallel: file.maxParallel ?? 2, seed: 0)
        // Which conditions hold now does not matter for what is read here.
        for status in planner.statuses(at: moment, conditions: Conditions(), ledger: ledger) {
            let facts = MetricsReport.JobFacts(
                next: status.nextStart, lastSuccess: ends[status.job]?.lastSuccess,
                overdue: status.overdueSince.map { moment.wall - $0 } ?? .zero)
            report.jobs[status.job.declared, default: facts].join(facts)
            guard let run = status.open, run.state == .enqueued,
                let reason = ledger.waits[run.id]?.first?.reason
            else { continue }
            report.waiting[reason, default: 0] += 1
        }
    }

    private func health(
        _ file: JobFile, _ declared: [FreshnessGoal], _ keyVariable: String?, hasBackend: Bool
    ) throws(HealthStoreError) -> MetricsReport.HealthFacts? {
        var environment = environment.merging(
            ServerAccount.variables(for: nil, at: file.server)
        ) { _, own in own }
        // Each account's data has a key of its own, which this process does not get.
        guard file.accounts == nil else { return nil }
        guard HealthStore.exists(in: state, environment: environment) else { return nil }
        if let keyVariable { environment["CLARITY_JOBS_KEY_VARIABLE"] = keyVariable }
        let store = try HealthStore(
            stateDirectory: state, environment: environment,
            actor: AuditActor(program: "exporter"), clock: clock)
        var facts = MetricsReport.HealthFacts()
        if hasBackend {
            facts.outbox = try store.outbox.backlog()
            facts.isLoggedIn = try store.sessions.load() != nil
        }
        let now = clock.now
        var goals = declared
        for goal in goals { facts.goals[goal.subject.name] = goal.within }
        for subject in try store.arrivedSubjects() where facts.goals[subject.name] == nil {
            goals.append(FreshnessGoal(subject, within: .seconds(2 * 86_400)))
        }
        for goal in goals {
            let known = try store.freshness(of: goal, hasBackend: hasBackend, now: now)
            guard let newest = known.newest else { continue }
            facts.ages[goal.subject.name] = max(now - newest, .zero)
        }
        return facts
    }
}

extension MetricsCollector {
    /// Writes the `metrics_textfile` of the job file, if it names one.
    func writeTextfile() throws(Fault) {
        guard let path = try jobFile().metricsTextfile else { return }
        try MetricsFile.write(PrometheusText.text(try report().families), to: path)
    }
}

/// The file that the node exporter's textfile collector reads.
enum MetricsFile {
    /// Replaces the file by one that everybody may read.
    ///
    /// The collector never sees half of it: the text is written under another name first, which
    /// does not end in `.prom`. A crash may lose the file, which the next decision writes again.
    ///
    /// - Throws: `MetricsCollector.Fault` with the system's reason.
    static func write(_ text: String, to path: String) throws(MetricsCollector.Fault) {
        let draft = "\(path).\(getpid())"
        // One that a killed process has left. Others may write to the folder: nothing that they put
        // there is opened.
        unlink(draft)
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw fault(path) }
        var bytes = Array(text.utf8)[...]
        var isWritten = fchmod(file, 0o644) == 0
        while isWritten, !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count > 0 { bytes = bytes.dropFirst(count) }
            isWritten = count > 0 || errno == EINTR
        }
        guard isWritten, close(file) == 0, rename(draft, path) == 0 else {
            let fault = fault(path)
            unlink(draft)
            throw fault
        }
    }

    private static func fault(_ path: String) -> MetricsCollector.Fault {
        MetricsCollector.Fault(
            reason: "cannot write `\(path)`: \(SystemError().text)")
    }
}

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
