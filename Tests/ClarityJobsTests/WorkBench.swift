@testable import Backend
@testable import BackendContract
import HealthStore
import HealthModel
import ClarityScheduler
import ClarityTestSupport
@testable import ClarityJobs
@preconcurrency import Glibc

import Synchronization
import Testing

/// A state directory, a clock and a scripted backend. Attempts run one after another as separate
/// processes would: each opens the store anew.
final class WorkBench: Sendable {
    let clock = ManualClock(Instant(secondsSince1970: 1_760_000_000))
    let folder: String
    let backend: ScriptedBackend
    static let user = "9b2f6c1e-0000-4000-8000-000000000001"
    static let url = "http://127.0.0.1:9/api/v1"

    init(
        gate: RequestGate? = nil, _ answer: @escaping ScriptedBackend.Answer = { _ in .ok("{}") }
    ) {
        var template = Array("/tmp/clarity-workers-test.XXXXXX".utf8CString)
        precondition(mkdtemp(&template) != nil, "cannot make a temporary folder: \(errno)")
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        backend = ScriptedBackend(gate: gate, answer)
    }

    deinit {
        for name in names(in: state) { unlink("\(state)/\(name)") }
        rmdir(state)
        for name in names(in: folder) { unlink("\(folder)/\(name)") }
        rmdir(folder)
    }

    var state: String { "\(folder)/state" }
    var exportPath: String { "\(folder)/export.xml" }

    func store() throws -> HealthStore {
        try HealthStore(stateDirectory: state, environment: [:])
    }

    func logIn(expiresIn life: Duration = .seconds(3600), at url: String = WorkBench.url) throws {
        try store().sessions.save(
            Session(
                userID: WorkBench.user, email: "demo@example.com",
                accessToken: Secret("TOKEN-MARKER"), refreshToken: Secret("REFRESH-MARKER"),
                expiresAt: clock.now + life, backend: url))
    }

    func order(_ kind: String, _ options: [String: String] = [:]) -> AttemptOrder {
        guard let job = JobID("job.\(kind)") else { preconditionFailure("no job id: \(kind)") }
        return AttemptOrder(
            run: RunID(1), job: job, kind: JobKind(kind), attempt: 1,
            fencingToken: 1, scheduledFor: clock.now, timeout: .seconds(30), warning: .seconds(5),
            memoryLimitBytes: 1 << 30,
            options: [
                "state.directory": state, "backend.url": WorkBench.url,
                "backend.dialect": "blueprint", "backend.retry_wait": "1",
            ].merging(options) { $1 })
    }

    /// Runs one attempt, and returns its outcome and its reports.
    func attempt(
        _ kind: String, _ options: [String: String] = [:], checkpoint: String? = nil,
        conditions: OrderConditions = OrderConditions(), environment: [String: String] = [:],
        isEnding: @escaping @Sendable () -> Bool = { false }
    ) async -> (outcome: Outcome, reports: Reports) {
        let reports = Mutex(Reports())
        var order = order(kind, options)
        order.checkpoint = checkpoint
        order.conditions = conditions
        let outcome = await AttemptRunner.run(
            order, environment: environment, clock: clock, transport: { backend },
            report: { report in reports.withLock { $0.take(report) } }, isEnding: isEnding)
        // An event that a kind emits but does not declare would be lost with a killed attempt.
        let declared = clarityCatalogue.kinds.first { $0.kind == order.kind }?.events ?? []
        #expect(declared.isSuperset(of: reports.withLock { $0.events }))
        return (outcome, reports.withLock { $0 })
    }

    /// Runs one pass of uploads by the test's own rules.
    func pass(_ rules: UploadEndpoint...) async -> (outcome: Outcome, reports: Reports) {
        let reports = Mutex(Reports())
        do {
            let context = try context { report in reports.withLock { $0.take(report) } }
            var pass = UploadPass(context, batchSize: 100, rules: rules)
            try await pass.run()
            return (.success, reports.withLock { $0 })
        } catch {
            return (ClarityJobs.outcome(of: error), reports.withLock { $0 })
        }
    }

    /// Makes the context in which the parts of a worker work.
    func context(
        isDryRun: Bool = false, report: @escaping @Sendable (AttemptReport) -> Void
    ) throws -> WorkContext {
        let store = try store()
        let client = APIClient(
            base: WorkBench.url, dialect: .blueprint, transport: backend,
            sessions: StoredSessions(store, backend: WorkBench.url), clock: clock,
            retryWait: .milliseconds(1))
        return WorkContext(
            order: order("bulk-upload"), store: store, backend: client, transport: backend,
            clock: clock, startedAt: clock.elapsed, report: report, isEnding: { false },
            isDryRun: isDryRun)
    }

    /// The options that name the export as a source.
    var source: [String: String] {
        ["sources.0.kind": "apple-health-export", "sources.0.path": exportPath]
    }

    /// Writes an export with one heart rate a minute, and with `extra` records.
    func writeExport(_ range: Range<Int>, extra: String = "", isCut: Bool = false) {
        var xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<HealthData locale=\"en_GB\">\n"
        for index in range {
            let date = "2024-01-01 \(two(index / 60)):\(two(index % 60)):00 +0000"
            xml += """
                <Record type="HKQuantityTypeIdentifierHeartRate" sourceName="Invented" \
                unit="count/min" startDate="\(date)" endDate="\(date)" \
                value="\(50 + index % 40)"/>\n
                """
        }
        xml += extra
        xml += isCut ? "<Record type=\"HKQuantity" : "</HealthData>\n"
        let descriptor = open(exportPath, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        precondition(write(descriptor, xml, xml.utf8.count) == xml.utf8.count)
        close(descriptor)
        // Until now the clock was before the file's own times.
        clock.set(Instant(secondsSince1970: 4_000_000_000))
    }

    private func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// Stores invented heart rates, one a minute.
    func enqueue(_ range: Range<Int>) throws {
        _ = try store().outbox.enqueue(
            range.map { index in
                let start = Instant(secondsSince1970: 1_700_000_000 + Int64(index) * 60)
                return Sample(
                    kind: .heartRate, start: start, end: start,
                    value: .single(50 + Double(index) / 8))
            })
    }

    /// Returns the number of samples in each state that has any.
    func states() throws -> [OutboxState: Int64] {
        let counts = try store().outbox.counts()
        return Dictionary(
            uniqueKeysWithValues: OutboxState.allCases.map { ($0, counts[$0]) }
        ).filter { $0.value > 0 }
    }

    /// Returns the bytes of every file in the state directory.
    func stateContents() -> [String: [UInt8]] {
        Dictionary(
            uniqueKeysWithValues: names(in: state).map { name in
                let descriptor = open("\(state)/\(name)", O_RDONLY)
                defer { close(descriptor) }
                var bytes: [UInt8] = []
                var buffer = [UInt8](repeating: 0, count: 65_536)
                while case let count = read(descriptor, &buffer, buffer.count), count > 0 {
                    bytes += buffer[..<count]
                }
                return (name, bytes)
            })
    }

    private func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}

extension Outbox {
    /// Returns the next batch by rules that accept everything.
    func nextBatch(limit: Int, at now: Instant) throws -> OutboxBatch? {
        let types = SampleKind.allCases.map { ($0, $0.rawValue) }
        let rules = UploadEndpoint(
            types: Dictionary(uniqueKeysWithValues: types), samples: limit)
        return try nextBatches(limit: limit, rules: [rules], at: now).batch
    }
}

extension OutboxDraw {
    /// The first one of its batches.
    var batch: OutboxBatch? { batches.first }
}

extension UploadEndpoint {
    /// Makes an endpoint that accepts kinds under these types, every value of them unless it has a
    /// range.
    init(
        route: UploadRoute = .metrics, types: [SampleKind: String],
        ranges: [SampleKind: ClosedRange<Double>] = [:], samples: Int = 100, perType: Int? = nil,
        perHour: Int? = nil, isIdempotent: Bool = true, resends: Bool = true
    ) {
        var fields: [SampleKind: UploadField] = [:]
        for (kind, type) in types {
            fields[kind] = UploadField(type, .biometric, in: ranges[kind].map { [$0] } ?? [])
        }
        self.init(
            route: route, format: .metrics(fields), samplesPerRequest: samples, perType: perType,
            requestBytes: 1 << 20, requestsPerHour: perHour, isIdempotent: isIdempotent)
        self.resends = resends
    }
}

/// What an attempt reported.
struct Reports: Sendable {
    var tally = Tally()
    /// All notes except `account`.
    var notes: [String] = []
    /// The run's account of where all samples are.
    var account: String?
    var facts: [AttemptFact] = []
    var checkpoint: String?
    /// The events that jobs may wait for, in the order of their arrival.
    var events: [EventName] = []
    var progress: [(done: Int64, total: Int64)] = []

    mutating func take(_ report: AttemptReport) {
        switch report {
        case .count(let name, let value): tally[name] = value
        case .note(let text) where text.hasPrefix("the outbox: "):
            account = String(text.dropFirst("the outbox: ".count))
        case .note(let text): notes.append(text)
        case .fact(let fact): facts.append(fact)
        case .checkpoint(let text): checkpoint = text
        case .happened(let event): events.append(event)
        case .progress(let done, let total): progress.append((done, total))
        case .outcome: break
        }
    }
}
