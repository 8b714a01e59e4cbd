import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Synchronization
import Testing

@testable import HealthStore

/// Wearers that share a job file, a machine and a backend. Each has a login and an export.
///
/// All have samples of the same minutes, and each has a value of its own, so that a sample in
/// another's place is seen.
final class AccountScene: Sendable {
    static let key = String(repeating: "6b", count: 32)
    static let batchSize = 8
    private static let password = "Demo-Passw0rd!"
    private static let seeds = SandboxSeeds()

    let ids: [String]
    let playground: Playground
    let sandbox: Sandbox
    let policy: DeliveryJudge.Policy
    /// The number of samples in each account's export.
    private let written = Mutex<[String: Int]>([:])

    /// Makes `count` accounts, at most 1,000, and logs them all in.
    ///
    /// - Parameters:
    ///   - mutation: a fault of the client that the judge has to find.
    ///   - every: the time between two uploads of an account.
    ///   - database: where the state is; in files without it.
    init(
        _ count: Int, _ policy: DeliveryJudge.Policy, mutation: ClientMutation? = nil,
        every: String = "30d", on database: StateDatabase? = nil
    ) async throws {
        let ids = (1...count).map { "w\(String(1000 + $0).dropFirst($0 < 1000 ? 1 : 0))" }
        let options = AccountScene.sandboxOptions(policy)
        self.ids = ids
        self.policy = policy
        playground = try await Playground(
            sandboxOptions: options,
            sandboxFile: try AccountScene.register(ids, try await AccountScene.seeds.file(options)),
            mutation: mutation, on: database
        ) {
            policy.written(into: AccountScene.jobFile(url: $0, folder: $1, every: every))
        }
        sandbox = try #require(playground.sandbox)
        try #require(mkdir("\(playground.folder.path)/accounts.d", 0o755) == 0)
        for id in ids { try grow(id, by: 4) }
        try await logIn()
    }

    /// Stops jobs from falling due.
    func quiet() throws {
        try playground.write { [policy] url, folder in
            policy.written(into: AccountScene.jobFile(url: url, folder: folder, every: "30d"))
        }
    }

    /// Starts `clarity-jobs` with the key of this machine.
    func start(
        _ arguments: [String], _ environment: [String: String] = [:]
    ) throws -> ChildProgram {
        try playground.start(
            arguments, environment: environment.merging(["CLARITY_JOBS_KEY": Self.key]) { $1 })
    }

    func run(_ arguments: String..., input: String = "") async throws -> ProgramResult {
        try await start(arguments).finish(input: input)
    }

    /// Adds samples to an account's export, as the next export of a phone does.
    func grow(_ id: String, by more: Int) throws {
        // One writer at a time, or an older file could replace a newer one.
        try written.withLock { written in
            let count = written[id, default: 0] + more
            let records = (0..<count).map { minute in
                let date = sample(minute, of: id).start
                    .replacing("T", with: " ").replacing("Z", with: " +0000")
                return "<Record type=\"HKQuantityTypeIdentifierHeartRate\" sourceName=\"Watch\" "
                    + "unit=\"count/min\" startDate=\"\(date)\" endDate=\"\(date)\" "
                    + "value=\"\(value(of: id))\"/>\n"
            }
            let text =
                "<?xml version=\"1.0\"?>\n<!DOCTYPE HealthData [\n]>\n<HealthData locale=\"en_GB\">\n"
                + records.joined() + "</HealthData>\n"
            let draft = try playground.folder.write("\(id).draft", Array(text.utf8))
            try #require(rename(draft, "\(playground.folder.path)/\(id).xml") == 0)
            written[id] = count
        }
    }

    /// Makes everybody's uploads once more, undisturbed, and returns the complaints.
    func settle() async throws -> [String] {
        var complaints: [String] = []
        // Some accounts at a time: whoever names thousands of jobs waits for each decision on all.
        for first in stride(from: 0, to: ids.count, by: 50) {
            let jobs = ids[first..<min(first + 50, ids.count)].flatMap {
                ["\($0)/upload", "\($0)/status", "\($0)/refresh"]
            }
            let result = try await start(["run"] + jobs).finish()
            if result.status != 0 {
                complaints.append("run ended with \(result.status): \(result.errors)")
            }
        }
        return complaints
    }

    /// Finishes the accounts' runs that wait for their backoff.
    func finishOpenRuns() async throws {
        for _ in 0..<6 {
            let open = try CrowdEvidence(playground).open.filter { !$0.hasPrefix("guest") }
            guard !open.isEmpty else { return }
            for line in open { _ = try await run("retry", String(line.prefix { $0 != " " })) }
            _ = try await run("run", "--due")
        }
    }

    /// Judges each account by what the backend has of that account's user.
    ///
    /// - Parameters:
    ///   - cutShort: the attempts that a fault cut short; `nil` if all programs that sent since
    ///     `first` may have been.
    ///   - attempts: further attempts of each account that were cut short.
    ///   - mayBeHeld: how many samples a fault may have left on hold in each account.
    func judge(
        cutShort: DeliveryJudge.CutShort?, disturbed: [ClosedRange<Int>] = [],
        attempts: [String: Int] = [:], mayBeHeld: Int = 0
    ) async throws -> AccountVerdict {
        let record = try await sandbox.sends()
        let folder = try playground.readableState(accounts: ids)
        var verdict = AccountVerdict()
        for id in ids {
            let own = record.of(AccountScene.login(of: id))
            let audit = try StateAudit(statePath: folder, account: id)
            var judge = DeliveryJudge(
                policy: policy, expected: expected(of: id), record: own, claims: .init(audit))
            judge.cutShort =
                cutShort
                ?? .init(sends: disturbed.flatMap { own.programs(in: $0) })
            judge.cutShort.attempts += attempts[id, default: 0]
            judge.mayBeHeld = policy == .hold ? mayBeHeld : 0
            verdict.add(judge.verdict(), audit, of: id)
        }
        let strangers = record.samples.filter { sample in
            !ids.contains { AccountScene.login(of: $0) == sample.user }
        }
        if !strangers.isEmpty { verdict.findings.append("samples of \(strangers[0].user)") }
        return verdict
    }

    private func expected(of id: String) -> Set<ExpectedSample> {
        let count = written.withLock { $0[id, default: 0] }
        return Set((0..<count).map { sample($0, of: id) })
    }

    private func sample(_ minute: Int, of id: String) -> ExpectedSample {
        var sample = ExpectedSample.heartRate(minute, 0)
        sample.value = value(of: id)
        return sample
    }

    /// A heart rate that nobody else has, and that is the same in decimals and in binary.
    private func value(of id: String) -> Double {
        40 + Double(ids.firstIndex(of: id) ?? 0) / 8
    }

    static func login(of id: String) -> String { "\(id)@example.org" }

    private func logIn() async throws {
        let path = "\(playground.folder.path)/wearers.csv"
        let table = "id,login\n" + ids.map { "\($0),\(AccountScene.login(of: $0))\n" }.joined()
        try playground.folder.write("wearers.csv", Array(table.utf8))
        let added = try await run("accounts", "add", "--from", path)
        try #require(added.status == 0, "\(added.errors)")
        if playground.database != nil {
            let made = try await run("store", "migrate", "--apply", "--owner", "admin")
            try #require(made.status == 0, "\(made.errors)")
        }
        let login = try await run(
            "auth", "login", "--accounts-from", path, "--password-stdin",
            input: ids.map { "\($0) \(AccountScene.password)\n" }.joined())
        try #require(login.status == 0, "\(login.errors)")
    }

    /// The deployed contract without its limits, which would let ten log in each minute.
    private static func sandboxOptions(_ policy: DeliveryJudge.Policy) -> [String] {
        let quirks = "no-deduplication,no-signup,never-processed,empty-list,wrong-statuses"
        return ["--processing-steps", "1"]
            + (policy == .deduplicates ? [] : ["--dialect", "loop", "--quirks", quirks])
    }

    /// Gives the sandbox a user for each account, with the password of its own user.
    private static func register(_ ids: [String], _ file: [UInt8]) throws -> [UInt8] {
        let folder = try TemporaryFolder(isInMemory: true)
        let path = try folder.write("sandbox.db", file)
        do {
            let database = try FileConnection(path: path, access: .readWrite)
            try database.execute(
                "CREATE TEMP TABLE person AS SELECT * FROM users WHERE email = 'demo@example.com'")
            for id in ids {
                try database.execute(
                    """
                    UPDATE person SET id = '\(id)', email = '\(login(of: id))';
                    INSERT INTO users SELECT * FROM person;
                    """)
            }
            try database.execute("DROP TABLE person; PRAGMA journal_mode = DELETE")
        }
        return try TemporaryFolder.read(path)
    }

    private static func jobFile(url: String, folder: String, every: String) -> String {
        """
        version: 1
        backend: { url: "\(url)", retry_wait: 1ms }
        accounts: accounts.d
        sources:
          - { kind: apple-health-export, path: "\(folder)/{account}.xml", time_zone: UTC }
        defaults: { max_parallel: 4, timeout: 1m, retry: { initial: 10s } }
        jobs:
          - id: upload
            kind: bulk-upload
            schedule: { every: \(every) }
            options: { batch_size: \(batchSize) }
            then: [status]
          - { id: status, kind: processing-status, schedule: { every: \(every) } }
          - { id: refresh, kind: refresh, schedule: { every: \(every) } }

        """
    }
}

/// The verdicts on all accounts.
struct AccountVerdict {
    var lost = 0
    var doubled = 0
    var stuck = 0
    var findings: [String] = []

    mutating func add(_ verdict: DeliveryJudge.Verdict, _ audit: StateAudit, of id: String) {
        lost += verdict.lost
        doubled += verdict.doubled
        stuck +=
            verdict.stuck + audit.samples["queued", default: 0]
            + audit.samples["sending", default: 0]
        findings += (verdict.findings + audit.damage).map { "\(id): \($0)" }
    }
}

extension SendRecord {
    /// Returns the part of the record with what one user has.
    func of(_ user: String) -> SendRecord {
        var part = self
        part.samples = samples.filter { $0.user == user }
        let ids = Set(part.samples.map(\.id))
        part.sends = sends.filter { send in send.samples.contains { ids.contains($0.id) } }
        return part
    }

    /// Returns the sends in a range, apart by the programs that made them.
    func programs(in range: ClosedRange<Int>) -> [ClosedRange<Int>] {
        var part = self
        part.sends = sends.filter { range.contains($0.send) }
        return part.programs(through: range.upperBound)
    }
}
