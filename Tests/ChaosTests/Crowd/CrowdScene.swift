import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Synchronization
import Testing

/// One state directory for a crowd, with jobs that are due every few seconds.
///
/// The jobs of CLARITY send imported samples to a sandbox. Three more jobs are witnesses: commands
/// that hold a lock while they run and record who they are. They detect two attempts of one job at
/// the same time without relying on the history, which would have allowed them.
final class CrowdScene: Sendable {
    static let witnesses = ["witness-skip", "witness-queue", "witness-replace"]
    /// Two jobs that send the samples of one outbox.
    static let uploads = ["upload", "upload-too"]
    static let health = ["refresh"] + uploads + ["status", "insights", "cleanup"]
    static let jobs = health + witnesses
    /// The minutes of the month from which the samples of all files are taken.
    static let minutes = 0..<28 * 1440

    static let batchSize = 50

    let playground: Playground
    let sandbox: Sandbox
    let policy: DeliveryJudge.Policy
    /// The minutes whose sample is in some file. A minute has the same sample in every file.
    private let written = Mutex<Set<Int>>([])
    private let files = Mutex<[String]>([])
    private let sourceLength = Mutex(0)
    /// The lines of the job file that limit the history and the duration of an attempt.
    private let limits: String

    /// The number of different samples in all files.
    var samples: Int { written.withLock(\.count) }
    /// The files that were written for `import`.
    var imports: [String] { files.withLock(\.self) }

    /// Starts the sandbox and logs in.
    ///
    /// - Parameters:
    ///   - keptRuns: how many finished runs of each job the history keeps.
    ///   - timeout: how long an attempt may take.
    ///   - mutation: a fault of the client that the judge has to find.
    ///   - database: where the state is; in files without it.
    init(
        _ policy: DeliveryJudge.Policy = .deduplicates, mutation: ClientMutation? = nil,
        keptRuns: Int = 100_000, timeout: String = "15m", on database: StateDatabase? = nil
    ) async throws {
        self.policy = policy
        limits =
            "store: { history: { keep_runs: \(keptRuns) } }\n"
            + "defaults: { max_parallel: 4, timeout: \(timeout), retry: { initial: 10s } }"
        playground = try await Playground(
            sandboxOptions: ["--processing-steps", "1"] + policy.sandboxOptions, mutation: mutation,
            on: database
        ) { [limits] in
            policy.written(
                into: CrowdScene.jobFile(
                    url: $0, folder: $1, limits: limits, every: ["1s", "2s", "3s"]))
        }
        sandbox = try #require(playground.sandbox)
        // Slows the uploads, so that one is always in flight when a process is killed.
        let path = policy == .deduplicates ? "/health-data/upload" : "/healthkit"
        try await sandbox.addFault("POST \(path): latency=40ms x*")
        try playground.folder.write("witness", Array(Self.witness.utf8))
        try growSource(by: 200)
        try await playground.logIn()
    }

    /// Stops jobs from falling due.
    func quiet() throws {
        try playground.write { [policy, limits] in
            policy.written(
                into: CrowdScene.jobFile(
                    url: $0, folder: $1, limits: limits, every: ["30d", "30d", "30d"]))
        }
    }

    /// Judges what the backend received against the samples of all files.
    func delivery(cutShort: DeliveryJudge.CutShort) async throws -> DeliveryJudge.Verdict {
        let expected = written.withLock { minutes in
            Set(minutes.map { ExpectedSample.heartRate($0, CrowdScene.value($0)) })
        }
        // Each attempt that was cut short may have left a batch on hold.
        let cuts = cutShort.ports.count + cutShort.attempts + cutShort.killed
        return DeliveryJudge(
            policy: policy, expected: expected, record: try await sandbox.sends(),
            claims: .init(try StateAudit(statePath: try playground.readableState())),
            cutShort: cutShort,
            mayBeHeld: policy == .hold ? CrowdScene.batchSize * cuts : 0
        ).verdict()
    }

    /// Returns the heart rate of a minute.
    private static func value(_ minute: Int) -> Int { 60 + minute % 1440 % 40 }

    /// Writes an export of the samples of these minutes, and remembers them.
    @discardableResult
    func writeExport(_ name: String, _ minutes: Range<Int>) throws -> String {
        let records = minutes.map { number in
            let (day, hour, minute) = (1 + number / 1440, number / 60 % 24, number % 60)
            let date =
                "2026-10-\(Self.twoDigits(day)) \(Self.twoDigits(hour)):\(Self.twoDigits(minute)):00"
            return """
                 <Record type="HKQuantityTypeIdentifierHeartRate" sourceName="Watch" \
                unit="count/min" startDate="\(date) +0000" endDate="\(date) +0000" \
                value="\(Self.value(number))"/>
                """
        }
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE HealthData [
            ]>
            <HealthData locale="en_GB">
            \(records.joined(separator: "\n"))
            </HealthData>

            """
        // Replaces the file in one step, as every program that replaces a source should.
        let draft = try playground.folder.write("\(name).draft", Array(text.utf8))
        let path = "\(playground.folder.path)/\(name)"
        try #require(rename(draft, path) == 0)
        written.withLock { $0.formUnion(minutes) }
        files.withLock { if !$0.contains(path) { $0.append(path) } }
        return path
    }

    /// Rewrites the source of the job file with its samples and `more` new ones, as the next export
    /// of a phone would.
    func growSource(by more: Int) throws {
        // One writer at a time, or an older file could replace a newer one.
        try sourceLength.withLock { length in
            length = min(length + more, Self.minutes.count)
            try writeExport("export.xml", 0..<length)
        }
    }

    /// Returns the lines that the witnesses wrote into the file of this name.
    func lines(of name: String) throws -> [Substring] {
        let path = "\(playground.folder.path)/\(name)"
        guard access(path, F_OK) == 0 else { return [] }
        return String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
            .split(separator: "\n")
    }

    private static func twoDigits(_ number: Int) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }

    /// The script of a witness. `$1` is the duration of its work in seconds. The sleeping child
    /// does not hold the lock, so the lock is free as soon as the attempt's own process has ended.
    private static let witness = """
        exec 9>>"$CLARITY_JOB.lock"
        if ! flock -n 9; then
            echo "$CLARITY_JOB $CLARITY_RUN $CLARITY_ATTEMPT" >>twice
            exit 70
        fi
        echo "$CLARITY_JOB $CLARITY_RUN $CLARITY_ATTEMPT $CLARITY_GENERATION" >>seen
        sleep "$1" 9>&-

        """

    private static func jobFile(
        url: String, folder: String, limits: String, every: [String]
    ) -> String {
        func witness(_ policy: String, _ seconds: String, every: String) -> String {
            """
              - id: witness-\(policy)
                kind: command
                schedule: { every: \(every) }
                overlap: \(policy)
                options: { command: [sh, \(folder)/witness, "\(seconds)"], folder: \(folder) }
            """
        }
        return """
            version: 1
            backend: { url: \(url), retry_wait: 1ms }
            sources:
              - { kind: apple-health-export, path: \(folder)/export.xml }
            \(limits)
            jobs:
              - { id: refresh, kind: refresh, class: app-refresh, schedule: { every: \(every[2]) } }
              - id: upload
                kind: bulk-upload
                schedule: { every: \(every[1]) }
                options: { batch_size: \(batchSize) }
                then: [status]
              - id: upload-too
                kind: bulk-upload
                schedule: { every: \(every[2]) }
                options: { batch_size: \(batchSize) }
              - { id: status, kind: processing-status, schedule: { every: \(every[1]) } }
              - { id: insights, kind: insight-history, schedule: { every: \(every[2]) } }
              - { id: cleanup, kind: cleanup, schedule: { every: \(every[2]) } }
            \(witness("skip", "0.1", every: every[0]))
            \(witness("queue", "0.3", every: every[0]))
            \(witness("replace", "0.6", every: every[1]))

            """
    }
}
