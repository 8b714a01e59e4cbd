import Backend
import BackendContract
import ClarityHost
import HealthStore
import HealthModel
import ClarityScheduler
import Platform
import ClarityTestSupport
import ClarityJobs
import Glibc
import JSON
import Synchronization
import Testing

/// Runs a script with the real planner over the real history, the real workers over the real store
/// and transport, and a real sandbox on the loopback. Only the clock is simulated.
///
/// It goes from event to event as `Simulation` does. An attempt does its work at the instant at
/// which it starts, and ends after the script's duration of an attempt.
final class MonthWorld {
    let script: MonthScript
    let sandbox: MonthSandbox
    let folder: TemporaryFolder
    let jobs: [Job]
    let maxParallel: Int
    /// Every run in its last state, by number.
    private(set) var runs: [RunID: Run] = [:]
    /// The sum of the counts of all upload attempts.
    private(set) var counted = Tally()
    /// The notes of the attempts, with the number of times that each was written.
    private var notes: [String: Int] = [:]
    private(set) var attempts = 0

    private var planner: Planner
    private let history: SQLiteRunStore
    private let transport: CurlTransport
    private var acts: ArraySlice<(at: Instant, act: MonthScript.Act)>
    private var running: [RunID: (endsAt: Instant, end: AttemptEnd)] = [:]

    init(_ script: MonthScript, _ jobFile: JobFile, _ backend: MonthBackend) async throws {
        self.script = script
        folder = try TemporaryFolder(isInMemory: true)
        sandbox = try await MonthSandbox(
            data: "\(folder.path)/sandbox",
            options: ["--dialect", backend.name, "--clock", MonthScript.start.description])
        let overrides = [
            "state.directory": "\(folder.path)/state", "backend.url": sandbox.url,
            "sources.0.path": "\(folder.path)/export.xml", "sources.0.time_zone": "Etc/UTC",
        ]
        jobs = jobFile.enabledJobs.map { job in
            var job = job
            job.options.merge(overrides) { $1 }
            return job
        }
        maxParallel = jobFile.maxParallel ?? 2
        history = try SQLiteRunStore(
            in: StateDirectory(path: "\(folder.path)/state"), uniqueNumber: 1)
        transport = try CurlTransport(version: "month")
        acts = script.acts[...]
        planner = Planner(
            jobs: JobSet(jobs), owner: history.leaseLock.owner, maxParallel: maxParallel,
            retention: jobFile.retention, seed: 1)
    }

    /// The notes of the attempts with their numbers, one per line, the most frequent first.
    var notesByCount: [String] {
        notes.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.value) x \($0.key)" }
    }

    var statePath: String { "\(folder.path)/state" }

    /// Opens the health store as a separate program would.
    func health() throws -> HealthStore {
        try HealthStore(stateDirectory: statePath, environment: [:])
    }

    /// Runs until the script's stretch is over.
    func live() async throws {
        var now = MonthScript.stretch.lowerBound
        var events: [Planner.Event] = [.conditionsChanged]
        while now < MonthScript.stretch.upperBound {
            try await act(until: now)
            let plan = try decide(events, at: now)
            for case .start(let order) in plan.acts {
                if script.isOnline(at: now) { try await setClock(now) }
                let end = await attempt(order, at: now)
                running[order.run] = (now + MonthScript.attempt, end)
            }
            for case .signal(let run, _) in plan.acts {
                Issue.record("run \(run) was stopped at \(now), which no script foresees")
            }
            let looks = [
                plan.wakeAfter.map { max(now + $0, now + .milliseconds(1)) },
                running.values.map(\.endsAt).min(), script.trace.nextChange(after: now),
            ]
            guard let next = looks.compactMap({ $0 }).min() else { break }
            let isChange = script.trace.nextChange(after: now) == next
            now = next
            events = takeEnds(at: now) + (isChange ? [.conditionsChanged] : [])
        }
        try await act(until: MonthScript.stretch.upperBound)
    }

    private func decide(_ events: [Planner.Event], at now: Instant) throws -> Plan {
        var plan = Plan()
        let conditions = script.trace.conditions(at: now)
        try history.decide { ledger in
            plan = planner.handle(
                events, at: Moment(wall: now, elapsed: now - MonthScript.start),
                conditions: conditions, ledger: ledger)
            return plan.changes
        }
        for case .put(let run) in plan.changes { runs[run.id] = run }
        return plan
    }

    private func takeEnds(at now: Instant) -> [Planner.Event] {
        let ended = running.filter { $0.value.endsAt <= now }.sorted { $0.key < $1.key }
        for (run, _) in ended { running[run] = nil }
        return ended.map { .finished($0, $1.end) }
    }

    // MARK: Attempts

    /// Does the work of one attempt, as its process would.
    private func attempt(_ order: AttemptOrder, at now: Instant) async -> AttemptEnd {
        attempts += 1
        let reports = Mutex(AttemptEnd(.reported(.success)))
        let way = MonthTransport(real: transport, isOnline: script.isOnline(at: now))
        let outcome = await AttemptRunner.run(
            order, environment: [:], clock: ManualClock(now), transport: { way },
            report: { report in reports.withLock { $0.take(report) } }, isEnding: { false })
        var end = reports.withLock { $0 }
        end.result = .reported(outcome)
        if order.kind == JobKind("bulk-upload") {
            for name in end.tally.names { counted[name] += end.tally[name] }
        }
        for note in end.notes { notes["\(order.kind): \(note)", default: 0] += 1 }
        return end
    }

    // MARK: The script

    private func setClock(_ now: Instant) async throws {
        try await sandbox.ask("POST", "clock", body: now.description)
    }

    /// Performs the acts of the script up to an instant.
    private func act(until now: Instant) async throws {
        while let next = acts.first, next.at <= now {
            acts.removeFirst()
            try await setClock(next.at)
            try await perform(next.act, at: next.at)
        }
    }

    private func perform(_ act: MonthScript.Act, at now: Instant) async throws {
        switch act {
        case .export(let export):
            let path = try folder.write("export.xml", Array(export.text.utf8))
            let time = timespec(tv_sec: Int(now.secondsSince1970), tv_nsec: 0)
            try #require(utimensat(AT_FDCWD, path, [time, time], 0) == 0)
        case .fault(let rules):
            try await sandbox.ask("POST", "fault", body: rules.joined(separator: "\n"))
        case .clearFaults: try await sandbox.ask("DELETE", "fault")
        case .expireTokens(let which):
            try await sandbox.ask("POST", "expire-tokens", body: which)
        case .logIn:
            let store = try health()
            let client = APIClient(
                base: sandbox.url, dialect: .auto,
                memory: StoredSessions(store, backend: sandbox.url),
                transport: transport, sessions: StoredSessions(store, backend: sandbox.url),
                clock: ManualClock(now))
            _ = try await client.login(
                email: "demo@example.com", password: Secret("Demo-Passw0rd!"))
        case .stallOldestUpload:
            let open = try #require(try health().outbox.openUploads().first)
            try await sandbox.ask("POST", "stall-processing", body: open.processingID)
        case .editMetric:
            let page = try await sandbox.ask("GET", "metrics?limit=1")
            guard case .array(let metrics)? = page["metrics"],
                case .string(let id)? = metrics.first?["metric_id"]
            else {
                Issue.record("there is no metric to edit")
                return
            }
            try await sandbox.ask("POST", "edit-metric", body: id)
        }
    }
}

extension AttemptEnd {
    /// Applies a worker's report, as the supervisor of its process does.
    fileprivate mutating func take(_ report: AttemptReport) {
        switch report {
        case .progress, .outcome: break
        case .count(let name, let value): tally[name] = value
        case .fact(let fact):
            facts.removeAll { $0.name == fact.name }
            facts.append(fact)
        case .note(let text): notes.append(text)
        case .checkpoint(let text): checkpoint = text
        case .happened(let name): events.insert(name)
        }
    }
}

/// The real transport. Without a network it connects to a port where nobody listens.
private struct MonthTransport: HTTPTransport {
    let real: CurlTransport
    let isOnline: Bool

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        var request = request
        if !isOnline, let rest = request.url.dropFirst("http://".count).firstIndex(of: "/") {
            request.url = "http://127.0.0.1:9" + request.url[rest...]
        }
        return try await real.send(request)
    }
}
