import ClarityScheduler
import ClarityTestSupport
import Database
import Glibc
@testable import ProgramTestSupport

@testable import ClarityHost
@testable import ClarityJobs

/// Loops that share a database, each with the folder of a machine of its own.
final class Fleet {
    /// What befalls a loop or its database.
    enum Fault: String, CaseIterable {
        /// A loop is killed, and another starts in its place.
        case kill
        /// A loop freezes for longer than the server waits for it, and goes on.
        case freeze
        /// The server ends all sessions, as a restart does.
        case sessions
    }

    let scene: AccountScene
    private let server: PostgresServer
    private let database: ServerAddress
    private var loops: [ChildProgram] = []
    private(set) var faults: [String: Int] = [:]
    /// The loops that ended by themselves.
    private(set) var ended: [String] = []

    /// Starts `count` loops for accounts that upload every two seconds.
    ///
    /// - Parameter mutation: a fault of the client that the judge has to find.
    init(
        _ count: Int, accounts: Int, _ policy: DeliveryJudge.Policy,
        mutation: ClientMutation? = nil
    ) async throws {
        server = try await PostgresServer.shared()
        database = try server.makeDatabase()
        scene = try await AccountScene(
            accounts, policy, mutation: mutation, every: "2s", store: database.uri)
        for number in 0..<count { loops.append(try start(number)) }
    }

    private func start(_ number: Int) throws -> ChildProgram {
        try scene.start(
            ["loop"], ["CLARITY_JOBS_STATE": "\(scene.playground.folder.path)/machine-\(number)"])
    }

    /// Makes one fault strike.
    func strike(_ fault: Fault, using random: inout SeededGenerator) async throws {
        let number = Int.random(in: loops.indices, using: &random)
        switch fault {
        case .kill:
            loops[number].signal(SIGKILL)
            note(await loops[number].finish(), signal: SIGKILL)
            loops[number] = try start(number)
        case .freeze:
            loops[number].signal(SIGSTOP)
            try await Task.sleep(for: .milliseconds(2500))
            loops[number].signal(SIGCONT)
        case .sessions: try server.endSessions(of: database.database)
        }
        faults[fault.rawValue, default: 0] += 1
    }

    private func note(_ result: ProgramResult, signal: Int32) {
        if result.status != 128 + signal { ended.append("\(result.status): \(result.errors)") }
    }

    /// Ends all loops.
    func end() async throws {
        for loop in loops {
            loop.signal(SIGTERM)
            note(await loop.finish(), signal: SIGTERM)
        }
        loops = []
    }

    /// Copies what the database has into the files of the playground's state, which the judges read.
    ///
    /// - Returns: how many uploads lost their session with the database, so that they may not have
    ///   recorded their last answer.
    @discardableResult
    func copy() throws -> Int {
        let state = scene.playground.statePath
        let history = try FileConnection(path: "\(state)/history.db")
        try historyMigrations.migrate(history)
        let source = try ServerHistory.connect(to: database, 1)
        try source.snapshot { try TableCopy(from: source, to: history).run() }
        let lost = try history.first(
            """
            SELECT count(*) FROM attempts JOIN runs ON runs.id = run_id
            WHERE job_id LIKE '%/upload' AND (attempts.reason LIKE '%(PostgreSQL 57P01)%'
                OR attempts.reason LIKE '%(PostgreSQL 08006)%')
            """
        ) { Int($0.integer(0)) }
        for id in scene.ids {
            let place = try HealthServerPlace(
                address: database, account: id, folder: state, key: nil)
            for folder in ["accounts", "accounts/\(id)"] { mkdir("\(state)/\(folder)", 0o700) }
            let copy = try FileConnection(path: "\(state)/accounts/\(id)/health.db")
            try HealthSchema.migrations.migrate(copy)
            let source = try place.open(keyID: "")
            try source.snapshot { try TableCopy(from: source, to: copy).run() }
        }
        return lost ?? 0
    }
}
