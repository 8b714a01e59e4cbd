import ClarityScheduler
import ClarityTestSupport
import Database
import Glibc
@testable import ProgramTestSupport
import Testing

/// Loops that share a database, each on a machine with a name, a folder and a way to the server of
/// its own.
final class Fleet {
    /// What befalls a loop or its database.
    enum Fault: String, CaseIterable {
        /// A loop is killed, and another starts in its place.
        case kill
        /// A loop freezes for longer than the server waits for it, and goes on.
        case freeze
        /// Nothing passes between a loop with its workers and the server for a while.
        case cut
        /// Nothing passes to the server.
        case cutRequests = "cut-requests"
        /// Nothing comes from the server.
        case cutAnswers = "cut-answers"
        /// The server ends all sessions.
        case sessions
        /// The server crashes and starts again.
        case crash
        /// The server is stopped and starts again.
        case restart
    }

    /// A fault, and whether it strikes the leader or a follower; `nil` where it strikes the server.
    struct Strike {
        var fault: Fault
        var leads: Bool?

        static let all: [Strike] = Fault.allCases.flatMap { fault in
            switch fault {
            case .sessions, .crash, .restart: [Strike(fault: fault)]
            default: [true, false].map { Strike(fault: fault, leads: $0) }
            }
        }

        var name: String {
            leads.map { "\(fault.rawValue)-\($0 ? "leader" : "follower")" } ?? fault.rawValue
        }
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

    /// Starts the loop of a machine, under the machine's own name where this system permits that.
    private func start(_ number: Int) throws -> ChildProgram {
        let machine = "\(scene.playground.folder.path)/machine-\(number)"
        let program = "\(ChildProgram.folder)/clarity-jobs"
        let rename = ["--uts", "sh", "-c", "hostname \"$0\" && exec \"$@\"", name(of: number)]
        return try scene.playground.start(
            Fleet.areNamed ? rename + [program, "loop"] : ["loop"],
            environment: [
                "CLARITY_JOBS_STATE": machine, "CLARITY_JOBS_CONFIG": "\(machine).yaml",
                "CLARITY_JOBS_KEY": AccountScene.key,
            ], program: Fleet.areNamed ? "/usr/bin/unshare" : program)
    }

    /// Whether each loop has a name of its own in the history.
    static var areNamed: Bool { NetworkNamespace.isPermitted }

    private func name(of number: Int) -> String { "m\(number)" }

    /// Makes one fault strike.
    func strike(_ strike: Strike, using random: inout SeededGenerator) async throws {
        let span = Duration.milliseconds(Int.random(in: 300...4000, using: &random))
        let draw = Int.random(in: 1..<max(2, loops.count), using: &random)
        var number = 0
        if let leads = strike.leads {
            let leader = try await leader()
            number = leads ? leader : (leader + draw) % loops.count
        }
        switch strike.fault {
        case .kill:
            note(try await kill(loops[number]), signal: SIGKILL)
            loops[number] = try start(number)
        case .freeze:
            loops[number].signal(SIGSTOP)
            try await Task.sleep(for: .milliseconds(2500))
            loops[number].signal(SIGCONT)
        case .cut: try await cut(number, .all, for: span)
        case .cutRequests: try await cut(number, .requests, for: span)
        case .cutAnswers: try await cut(number, .answers, for: span)
        case .sessions: try database.endSessions()
        case .crash, .restart:
            if strike.fault == .crash { await server.crash() } else { await server.stop() }
            try await Task.sleep(for: span / 4)
            try await server.restart()
        }
        faults[strike.name, default: 0] += 1
    }

    private func cut(_ number: Int, _ cut: Relay.Cut, for span: Duration) async throws {
        relays[number].cut(cut)
        try await Task.sleep(for: span)
        relays[number].cut(nil)
    }

    /// The number of the loop that leads, as soon as one does.
    private func leader() async throws -> Int {
        let deadline = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < deadline {
            if let process = try database.leader(),
                let number = loops.firstIndex(where: { $0.processID == process })
            {
                return number
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw PostgresServer.Failure("no loop leads after 30 s")
    }

    /// Waits until the loops have uploaded for each account.
    func waitForUploads() async throws {
        let history = try scene.playground.openHistory()
        let deadline = ContinuousClock.now + .seconds(60)
        while try history.integer(
            """
            SELECT count(DISTINCT job_id) FROM runs
            WHERE job_id LIKE '%/upload' AND state = 'succeeded'
            """) != Int64(scene.ids.count)
        {
            try #require(ContinuousClock.now < deadline, "not each account has an upload")
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Returns how many attempts each loop carried out, by the history.
    func attemptsOfLoops() throws -> [String: Int] {
        let counts = try scene.playground.openHistory().all(
            "SELECT machine, count(*) FROM attempt_machines GROUP BY machine"
        ) { ($0.text(0), Int($0.integer(1))) }
        let all = Dictionary(uniqueKeysWithValues: counts)
        return Dictionary(
            uniqueKeysWithValues: relays.indices.map { (name(of: $0), all[name(of: $0)] ?? 0) })
    }

    /// Kills a loop, and remembers over what its workers were sending.
    private func kill(_ loop: ChildProgram) async throws -> ProgramResult {
        loop.signal(SIGSTOP)
        try await ProcessTable.waitForStop(of: loop.processID)
        let workers = ProcessTable.children(of: loop.processID)
        cutPorts.formUnion(try await ProcessTable.stopped(workers))
        loop.signal(SIGKILL)
        // They notice by themselves that nobody is left to read their reports. Until they end, the
        // loop's output stays open.
        for worker in workers { Glibc.kill(worker, SIGCONT) }
        return await loop.finish()
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
