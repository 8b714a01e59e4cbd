import ClarityScheduler
import ClarityTestSupport
import Database
import Glibc
@testable import ProgramTestSupport

/// Loops that share a database, each with the folder of a machine of its own and a way of its own to
/// the server.
final class Fleet {
    /// What befalls a loop or its database.
    enum Fault: String, CaseIterable {
        /// A loop is killed, and another starts in its place.
        case kill
        /// A loop freezes for longer than the server waits for it, and goes on.
        case freeze
        /// The server ends all sessions.
        case sessions
        /// Nothing passes between a loop with its workers and the server for a while, or nothing in
        /// one direction.
        case cut
        /// The server crashes and starts again.
        case restart
    }

    let scene: AccountScene
    private let server: PostgresServer
    private let database: StateDatabase
    private var loops: [ChildProgram] = []
    private var relays: [Relay] = []
    private(set) var faults: [String: Int] = [:]
    /// The ports of the workers whose loop was killed.
    private(set) var cutPorts: Set<Int> = []
    /// The loops that ended by themselves.
    private(set) var ended: [String] = []

    /// Starts `count` loops for accounts that upload at intervals of `every`.
    ///
    /// - Parameter mutation: a fault of the client that the judge has to find.
    init(
        _ count: Int, accounts: Int, _ policy: DeliveryJudge.Policy,
        mutation: ClientMutation? = nil, every: String = "2s"
    ) async throws {
        server = try await PostgresServer()
        database = try await StateDatabase(on: server)
        scene = try await AccountScene(
            accounts, policy, mutation: mutation, every: every, on: database)
        for number in 0..<count {
            let machine = "\(scene.playground.folder.path)/machine-\(number)"
            mkdir(machine, 0o700)
            relays.append(try Relay(to: database.address.host, in: machine))
            var address = database.address
            address.host = machine
            let path = scene.playground.jobFilePath
            let text = String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
                .replacing(database.address.uri, with: address.uri)
            try scene.playground.folder.write("machine-\(number).yaml", Array(text.utf8))
            loops.append(try start(number))
        }
    }

    deinit { relays.forEach { $0.end() } }

    private func start(_ number: Int) throws -> ChildProgram {
        let machine = "\(scene.playground.folder.path)/machine-\(number)"
        return try scene.start(
            ["loop"],
            ["CLARITY_JOBS_STATE": machine, "CLARITY_JOBS_CONFIG": "\(machine).yaml"])
    }

    /// Makes one fault strike.
    func strike(_ fault: Fault, using random: inout SeededGenerator) async throws {
        let number = Int.random(in: loops.indices, using: &random)
        let span = Duration.milliseconds(Int.random(in: 300...4000, using: &random))
        switch fault {
        case .kill:
            note(try await kill(loops[number]), signal: SIGKILL)
            loops[number] = try start(number)
        case .freeze:
            loops[number].signal(SIGSTOP)
            try await Task.sleep(for: .milliseconds(2500))
            loops[number].signal(SIGCONT)
        case .sessions: try database.endSessions()
        case .cut:
            relays[number].cut(Relay.Cut.allCases.randomElement(using: &random))
            try await Task.sleep(for: span)
            relays[number].cut(nil)
        case .restart:
            await server.crash()
            try await Task.sleep(for: span / 4)
            try await server.restart()
        }
        faults[fault.rawValue, default: 0] += 1
    }

    /// Kills a loop, and remembers over what its workers were sending.
    private func kill(_ loop: ChildProgram) async throws -> ProgramResult {
        loop.signal(SIGSTOP)
        try await ProcessTable.waitForStop(of: loop.processID)
        let workers = ProcessTable.children(of: loop.processID)
        cutPorts.formUnion(try await ProcessTable.stopped(workers))
        loop.signal(SIGKILL)
        let result = await loop.finish()
        // They notice by themselves that nobody is left to read their reports.
        for worker in workers { Glibc.kill(worker, SIGCONT) }
        return result
    }

    /// Returns how many uploads of each account were cut short: a loop that has lost its session
    /// kills its workers, and the next one records that. A worker whose own session ends, and that
    /// reaches the server no more, ends by itself.
    func uploadsCutShort() throws -> [String: Int] {
        let counts = try scene.playground.openHistory().all(
            """
            SELECT job_id, count(*) FROM attempts JOIN runs ON runs.id = run_id
            WHERE job_id LIKE '%/upload' AND (attempts.result = 'interrupted'
                OR attempts.reason LIKE '%was ended by signal%'
                OR attempts.reason LIKE 'cannot use `postgresql://%'
                OR attempts.stop_reason IS NOT NULL)
            GROUP BY job_id
            """
        ) { (String($0.text(0).prefix { $0 != "/" }), Int($0.integer(1))) }
        return Dictionary(uniqueKeysWithValues: counts)
    }

    /// Returns how the uploads of accounts ended that did not succeed, for a finding about them.
    func endsOfUploads(in findings: [String]) throws -> [String] {
        let accounts = Set(findings.map { $0.prefix { $0 != ":" } })
        return try scene.playground.openHistory().all(
            """
            SELECT job_id, number, attempts.result, coalesce(attempts.stop_reason, ''),
                coalesce(attempts.reason, '')
            FROM attempts JOIN runs ON runs.id = run_id
            WHERE job_id LIKE '%/upload' AND attempts.result <> 'succeeded'
            """
        ) { row in
            "\(row.text(0)) \(row.integer(1)) \(row.text(2)) \(row.text(3)) \(row.text(4))"
        }
        .filter { accounts.contains($0.prefix { $0 != "/" }) }
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
        try await database.waitUntilUnused()
    }
}
