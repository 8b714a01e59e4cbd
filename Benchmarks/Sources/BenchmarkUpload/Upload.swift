import Backend
import BackendContract
import HealthModel
import HealthStore
import ClarityScheduler
import Platform
import ClarityJobs
@preconcurrency import Glibc
import Synchronization

/// `benchmark-upload URL COUNT BATCH`: uploads invented heart rates with the client, and writes the
/// microseconds of processor time that it took, then of wall time.
///
/// `benchmark-upload bodies FILE COUNT BATCH` writes the bodies that it would send, each after a
/// line with its length. `benchmark-upload prepared URL FILE BATCH` sends such bodies with the
/// transport alone. `benchmark-upload job URL COUNT FOLDER` runs the whole upload job, from the
/// encrypted outbox in a new state directory. `benchmark-upload queue URL FIRST FOLDER` logs in
/// there, and queues a hundred samples from the `FIRST` on. `benchmark-upload fhir URL COUNT FOLDER`
/// sends the archive of that state directory to a FHIR server, `COUNT` Observations, and writes its
/// peak of memory in KiB too.
@main
enum Upload {
    static func main() async throws {
        var words = CommandLine.arguments.dropFirst()
        let mode = words.count == 4 ? words.popFirst() : nil
        guard words.count == 3, let target = words.popFirst(), let second = words.popFirst(),
            let third = words.popFirst()
        else { exit(64) }
        let count = Int(second) ?? 0
        let size = Int(third) ?? 0
        switch mode {
        case "prepared": try await send(preparedIn: second, to: target)
        case "job": try await runJob(count, in: third, to: target)
        case "fhir": try await sendArchive(count, in: third, to: target)
        case "queue": _ = try queue(count..<count + 100, in: third, to: target)
        case "bodies": try writeBodies((0..<count).map(sample), size, to: target)
        default: try await upload((0..<count).map(sample), size, to: target)
        }
    }

    private static func queue(
        _ numbers: Range<Int>, in folder: String, to base: String
    ) throws -> HealthStore {
        let store = try HealthStore(stateDirectory: folder, environment: [:])
        try StoredSessions(store, backend: base, environment: [:]).save(
            KnownSession.session, at: SystemClock().now)
        _ = try store.outbox.enqueue(numbers.map(sample))
        return store
    }

    private static func runJob(_ count: Int, in folder: String, to base: String) async throws {
        let clock = SystemClock()
        let store = try queue(0..<count, in: folder, to: base)
        guard let job = JobID("upload") else { exit(70) }
        let order = AttemptOrder(
            run: RunID(1), job: job, kind: JobKind("bulk-upload"), attempt: 1, fencingToken: 1,
            scheduledFor: clock.now, timeout: .seconds(900), warning: .seconds(10),
            memoryLimitBytes: 1 << 30,
            options: [
                "state.directory": folder, "backend.url": base, "backend.dialect": "blueprint",
            ])
        let (cpu, wall) = (processorMicroseconds(), clock.elapsed)
        let outcome = await AttemptRunner.run(
            order, environment: [:], clock: clock, transport: { try CurlTransport(version: "0") },
            report: { _ in }, isEnding: { false })
        let end = clock.elapsed
        guard outcome == .success, try store.outbox.counts()[.accepted] == Int64(count) else {
            exit(1)
        }
        print(processorMicroseconds() - cpu, (end - wall).milliseconds * 1000)
    }

    private static func sendArchive(
        _ count: Int, in folder: String, to base: String
    ) async throws {
        guard let job = JobID("clinic") else { exit(70) }
        let clock = SystemClock()
        let order = AttemptOrder(
            run: RunID(1), job: job, kind: JobKind("fhir-upload"), attempt: 1, fencingToken: 1,
            scheduledFor: clock.now, timeout: .seconds(900), warning: .seconds(10),
            memoryLimitBytes: 1 << 30,
            options: [
                "state.directory": folder, "url": base, "patient": "Patient/p1",
            ])
        let (cpu, wall) = (processorMicroseconds(), clock.elapsed)
        let sent = Mutex<Int64>(0)
        let outcome = await AttemptRunner.run(
            order, environment: [:], clock: clock, transport: { try CurlTransport(version: "0") },
            report: { report in
                if case .count(name: "observations_sent", let number) = report {
                    sent.withLock { $0 = number }
                }
            }, isEnding: { false })
        let end = clock.elapsed
        guard outcome == .success, sent.withLock({ $0 }) == Int64(count) else { exit(1) }
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        print(
            processorMicroseconds() - cpu, (end - wall).milliseconds * 1000, usage.ru_maxrss)
    }

    private static func send(preparedIn path: String, to url: String) async throws {
        var bodies: [[UInt8]] = []
        guard let file = fopen(path, "re") else { exit(66) }
        var line = [CChar](repeating: 0, count: 32)
        while fgets(&line, 32, file) != nil {
            let text = String(decoding: line.prefix { $0 != 10 }.map(UInt8.init), as: UTF8.self)
            var body = [UInt8](repeating: 0, count: Int(text) ?? 0)
            guard fread(&body, 1, body.count, file) == body.count else { exit(65) }
            bodies.append(body)
        }
        fclose(file)
        let (cpu, wall) = (processorMicroseconds(), SystemClock().elapsed)
        let transport = try CurlTransport(version: "0")
        try await withTaskExecutorPreference(transport.executor) {
            for body in bodies {
                let answer = try await transport.send(
                    HTTPRequest(
                        .post, url,
                        headers: [
                            HTTPHeader("Authorization", .plain("Bearer invented")),
                            HTTPHeader("Accept", .plain("application/json")),
                            HTTPHeader("Content-Type", .plain("application/json")),
                        ], body: body))
                guard answer.status == 201 else { exit(1) }
            }
        }
        let end = SystemClock().elapsed
        print(processorMicroseconds() - cpu, (end - wall).milliseconds * 1000)
    }

    private static func upload(
        _ samples: [Sample], _ size: Int, to base: String
    ) async throws {
        let (cpu, wall) = (processorMicroseconds(), SystemClock().elapsed)
        let transport = try CurlTransport(version: "0")
        let client = APIClient(
            base: base, dialect: .blueprint, transport: transport, sessions: KnownSession(),
            clock: SystemClock())
        try await withTaskExecutorPreference(transport.executor) {
            for batch in batches(samples, size) {
                let receipt = try await client.upload(batch)
                guard receipt.accepted == batch.metrics.count else { exit(1) }
            }
        }
        let end = SystemClock().elapsed
        print(processorMicroseconds() - cpu, (end - wall).milliseconds * 1000)
    }

    private static func writeBodies(_ samples: [Sample], _ size: Int, to path: String) throws {
        guard let file = fopen(path, "we") else { exit(73) }
        let requests = APIRequests(base: "http://127.0.0.1", dialect: .blueprint)
        for batch in batches(samples, size) {
            let body = try requests.upload(batch, token: Secret("invented")).body ?? []
            fputs("\(body.count)\n", file)
            fwrite(body, 1, body.count, file)
        }
        fclose(file)
    }

    /// Makes the batches as an upload job does, including ids, one at a time.
    private static func batches(
        _ samples: [Sample], _ size: Int
    ) -> some Sequence<UploadBatch> {
        let ids = MetricIDs(userID: user)
        return stride(from: 0, to: samples.count, by: size).lazy.map { first in
            UploadBatch(
                id: String(first), userID: user, clientTimestamp: start,
                metrics: samples[first..<min(first + size, samples.count)].map {
                    UploadMetric(
                        id: ids($0).description, sample: $0)
                })
        }
    }

    private static let user = "00000000-0000-4000-8000-000000000001"
    private static let start = Instant(secondsSince1970: 1_577_836_800)

    private static func sample(_ index: Int) -> Sample {
        let at = start + .seconds(60 * index)
        return Sample(
            kind: .heartRate, start: at, end: at, value: .single(50 + Double(index % 1000) / 10),
            source: "Invented Watch")
    }

    private static func processorMicroseconds() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
    }
}

/// A session that does not expire while this program runs.
private struct KnownSession: SessionStore {
    static var session: Session {
        Session(
            userID: "00000000-0000-4000-8000-000000000001", email: "invented@example.org",
            accessToken: Secret("invented"), refreshToken: Secret("invented"),
            expiresAt: SystemClock().now + .seconds(86_400))
    }

    func load() -> Session? { KnownSession.session }
    func save(_ session: Session, at now: Instant, isAgain: Bool) {}
    func replace(_ old: Session, with renewed: Session, at now: Instant) -> Bool { true }
    func remove(_ session: Session, because reason: String, at now: Instant) -> Bool { true }
    func clear() {}
    func lock() -> (any AnyObject & Sendable)? { Lock() }
    func noteRefusal(
        _ reason: String, isTrouble: Bool, at now: Instant
    ) -> SessionRecord.Trouble? { nil }
    func reserveLogin(email: String, at now: Instant) -> LoginReservation { .granted(1) }
    func withdrawLogin(_ number: Int64) {}
    func credentials() -> LoginCredentials? { nil }

    private final class Lock: Sendable {}
}
