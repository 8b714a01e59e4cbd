import ClarityTestSupport
import Database
import Glibc
@testable import ProgramTestSupport
import Testing

/// Attempts that the leader places on the machines of other loops, while loops and their ways to the
/// database fail.
@Suite(
    "Every loop works", .serialized, .timeLimit(.minutes(20)),
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct PlacingLoopsTests {
    /// 2,000 runs in `make chaos`.
    @Test func `three loops share the runs, and none has more than its places`() async throws {
        let jobs = ChaosPlan.current.size(slice: 36, whole: 2000)
        let scene = try await PlacingLoops(3, jobs: jobs, sleep: "0.25", places: 2)
        defer { scene.end() }

        try await scene.waitForAll(3)
        try scene.letGo()
        try await scene.waitForEnds(of: jobs, within: .seconds(jobs + 30))

        let begins = try scene.begins()
        #expect(Set(begins.map(\.machine)) == ["m0", "m1", "m2"])
        let most = try scene.mostAtOnce()
        #expect(most.values.allSatisfy { $0 <= 2 }, "\(most)")
        try await scene.expectOneEndEach(of: jobs)
    }

    enum Fault: String, CaseIterable { case kill, freeze, cutAll, cutRequests, cutAnswers, end }

    /// Which fault strikes, and whether the leader; `make chaos` strikes both with each.
    private static let strikes: [(fault: Fault, leads: Bool)] = {
        let all = Fault.allCases.flatMap { [($0, false), ($0, true)] }
        let half = [0, 3, 4, 7, 9, 10].map { all[$0] }
        return ChaosPlan.current.isWhole ? all : half
    }()

    @Test(arguments: strikes)
    func `whichever loop fails, each attempt has one end and each run one success`(
        fault: Fault, leads: Bool
    ) async throws {
        let jobs = 9
        let scene = try await PlacingLoops(3, jobs: jobs, sleep: "1.5", places: 2)
        defer { scene.end() }
        try await scene.waitForAll(3)
        let leader = try scene.leader()
        let victim = leads ? leader : (leader + 1) % 3

        try await scene.strike(fault, victim)
        try scene.letGo()

        try await scene.waitForSuccess(of: jobs, within: .seconds(60))
        try await scene.expectOneEndEach(of: jobs)
    }

    @Test(.enabled(if: NetworkNamespace.isPermitted))
    func `a job that needs an unmetered network runs on the machine that has one`() async throws {
        let network = try await blocking {
            let network = try NetworkNamespace()
            try network.connect()
            return network
        }
        let scene = try await PlacingLoops(
            3, jobs: 3, sleep: "0.1", places: 2, keys: "constraints: { network: unmetered },",
            in: network
        ) { number in
            "conditions: { interfaces: { eth0: \(number == 2 ? "unmetered" : "metered") } }"
        }
        defer { scene.end() }

        try scene.letGo()
        try await scene.waitForEnds(of: 3, within: .seconds(30))
        let explained = try await scene.run(["explain", "j0"], on: 1)
        let shown = try await scene.run(["history", "show", "1"], on: 1)

        #expect(try scene.begins().allSatisfy { $0.machine == "m2" })
        let lines = explained.outputLines
        #expect(lines.contains { $0.hasPrefix("may run on") && $0.contains("m2") }, "\(lines)")
        #expect(
            lines.count { $0.hasPrefix("not on") && $0.contains("network: wants") } == 2, "\(lines)"
        )
        #expect(shown.output.contains(" on "), "\(shown.output)")
    }

    @Test func `a pinned job runs on its machine alone, and waits while that is away`() async throws
    {
        let scene = try await PlacingLoops(
            2, jobs: 4, sleep: "0.1", places: 2, keys: "machine: m1,")
        defer { scene.end() }
        try scene.letGo()
        try await scene.waitForEnds(of: 4, within: .seconds(30))
        #expect(try scene.begins().allSatisfy { $0.machine == "m1" })

        try await scene.stop(1)
        let byHand = try await scene.run(["run", "j0"], on: 0)

        #expect(byHand.status == 0, "\(byHand.errors)")
        #expect(try scene.begins().last?.machine == "by hand")
    }
}

/// Loops that share a database, each with a folder, a label and a way to the server of its own, and
/// jobs that note where they begin and end.
private final class PlacingLoops {
    struct Note {
        var isBegin: Bool
        var run: String
        var machine: String
    }

    private let server: PostgresServer
    private let database: StateDatabase
    private let playground: Playground
    private var loops: [Int: ChildProgram] = [:]
    private var relays: [Relay] = []

    init(
        _ count: Int, jobs: Int, sleep: String, places: Int, keys: String = "",
        in network: NetworkNamespace? = nil, settings: (Int) -> String = { _ in "" }
    ) async throws {
        server = try await PostgresServer()
        database = try await StateDatabase(on: server)
        playground = try await Playground(sandboxOptions: nil, in: network, on: database)
        let notes = "\(playground.folder.path)/notes"
        let script =
            "echo b $CLARITY_RUN $MACHINE >>\(notes); "
            + "while [ ! -e \(notes).go ]; do sleep 0.05; done; sleep \(sleep); "
            + "echo e $CLARITY_RUN $MACHINE >>\(notes)"
        let list = (0..<jobs).map { number in
            "  - { id: j\(number), kind: command, schedule: { every: 1d }, \(keys) "
                + "options: { command: [sh, -c, '\(script)'] } }"
        }.joined(separator: "\n")
        for number in 0..<count {
            let machine = machine(number)
            mkdir(machine, 0o700)
            try database.writeKey(into: machine)
            relays.append(try Relay(to: database.address.host, in: machine))
            var address = database.address
            address.host = machine
            let text = """
                version: 1
                store: { url: "\(address.uri)" }
                defaults: { max_parallel: \(places) }
                labels: [m\(number)]
                \(settings(number))
                jobs:
                \(list)

                """
            try playground.folder.write("machine-\(number).yaml", Array(text.utf8))
            loops[number] = try start(["loop"], number, "m\(number)")
        }
    }

    private func machine(_ number: Int) -> String { "\(playground.folder.path)/machine-\(number)" }

    private func start(_ words: [String], _ number: Int, _ name: String) throws -> ChildProgram {
        try playground.start(
            words,
            environment: [
                "CLARITY_JOBS_STATE": machine(number), "MACHINE": name,
                "CLARITY_JOBS_CONFIG": "\(machine(number)).yaml",
            ])
    }

    /// Runs a command on the machine of a loop.
    func run(_ words: [String], on number: Int) async throws -> ProgramResult {
        try await start(words, number, "by hand").finish()
    }

    /// The number of the loop that leads.
    func leader() throws -> Int {
        let process = try #require(try database.leader())
        return try #require(loops.first { $0.value.processID == process }?.key)
    }

    private func admin() throws -> Connection {
        try server.administrator(of: database.address.database)
    }

    func strike(_ fault: PlacingLoopsTests.Fault, _ number: Int) async throws {
        let loop = try #require(loops[number])
        switch fault {
        case .kill:
            loop.signal(SIGKILL)
            _ = await loop.finish()
            loops[number] = try start(["loop"], number, "m\(number)")
        case .freeze:
            loop.signal(SIGSTOP)
            try await waitUntilGone(loop)
            loop.signal(SIGCONT)
        case .end: try await stop(number)
        case .cutAll, .cutRequests, .cutAnswers:
            relays[number].cut(
                fault == .cutAll ? .all : fault == .cutRequests ? .requests : .answers)
            try await waitUntilGone(loop)
            relays[number].cut(nil)
        }
    }

    /// Waits until the server has ended the session of a loop.
    private func waitUntilGone(_ loop: ChildProgram) async throws {
        let admin = try admin()
        try await wait {
            try admin.integer(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE ?",
                .text("clarity-loop %/\(loop.processID)")) == 0
        }
    }

    /// Ends a loop as its service does.
    func stop(_ number: Int) async throws {
        let loop = loops.removeValue(forKey: number)
        loop?.signal(SIGTERM)
        #expect(await loop?.finish().status == 128 + SIGTERM)
    }

    // MARK: What happened

    private func notes() throws -> [Note] {
        let path = "\(playground.folder.path)/notes"
        guard access(path, F_OK) == 0 else { return [] }
        return String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
            .split(separator: "\n").compactMap { line in
                let words = line.split(separator: " ", maxSplits: 2).map(String.init)
                guard words.count == 3 else { return nil }
                return Note(isBegin: words[0] == "b", run: words[1], machine: words[2])
            }
    }

    func begins() throws -> [Note] { try notes().filter(\.isBegin) }

    /// The most attempts that each machine had at once.
    func mostAtOnce() throws -> [String: Int] {
        var (now, most): ([String: Int], [String: Int]) = ([:], [:])
        for note in try notes() {
            now[note.machine, default: 0] += note.isBegin ? 1 : -1
            most[note.machine] = max(most[note.machine] ?? 0, now[note.machine] ?? 0)
        }
        return most
    }

    /// Waits until each machine has begun an attempt.
    func waitForAll(_ count: Int) async throws {
        try await wait(.seconds(60)) { Set(try begins().map(\.machine)).count == count }
    }

    /// Lets the jobs go on, each of which waits for that.
    func letGo() throws { try playground.folder.write("notes.go", []) }

    func waitForEnds(of count: Int, within span: Duration) async throws {
        try await wait(span) { try self.notes().count { !$0.isBegin } >= count }
        try await waitForSuccess(of: count, within: span)
    }

    func waitForSuccess(of count: Int, within span: Duration) async throws {
        let admin = try admin()
        try await wait(span) {
            try admin.integer(
                "SELECT count(*) FROM clarity_history.runs WHERE state = 'succeeded'")
                == Int64(count)
        }
    }

    /// Checks that each run succeeded once, that each attempt has an end, and that nothing is left
    /// of what was placed.
    func expectOneEndEach(of count: Int) async throws {
        let admin = try admin()
        let open = try admin.all(
            "SELECT run_id, number FROM clarity_history.attempts WHERE result = 'running'"
        ) { "\($0.integer(0)).\($0.integer(1))" }
        let successes = try admin.all(
            """
            SELECT count(*) FROM clarity_history.attempts WHERE result = 'succeeded'
            GROUP BY run_id
            """
        ) { $0.integer(0) }
        let placed = try admin.integer("SELECT count(*) FROM clarity_history.placements")
        #expect(open == [])
        #expect(successes == Array(repeating: 1, count: count))
        #expect(placed == 0)
        let left = try await run(["audit"], on: 0)
        #expect(left.status == 0, "\(left.output)\(left.errors)")
    }

    /// What is not finished, for a failure.
    private func state() throws -> [String] {
        let admin = try admin()
        let runs = try admin.all(
            """
            SELECT id, state, lease_owner, attempts, coalesce(failure_reason, '')
            FROM clarity_history.runs WHERE finished_at_ms IS NULL
            """
        ) { row in
            "run \(row.integer(0)) \(row.text(1)) \(row.optionalText(2) ?? "-") \(row.integer(3)) "
                + row.text(4)
        }
        let placed = try admin.all(
            "SELECT run_id, number, owner, state FROM clarity_history.placements"
        ) { "placed \($0.integer(0)).\($0.integer(1)) \($0.text(2)) \($0.text(3))" }
        let machines = try admin.all("SELECT owner, places FROM clarity_history.machines") {
            "machine \($0.text(0)) \($0.integer(1))"
        }
        let sessions = try admin.all(
            "SELECT application_name FROM pg_stat_activity WHERE application_name LIKE 'clarity-%'"
        ) { $0.text(0) }
        let notes = try notes().map { "\($0.isBegin ? "b" : "e") \($0.run) \($0.machine)" }
        return runs + placed + machines + sessions + notes
    }

    func wait(
        _ span: Duration = .seconds(20), until isReached: () throws -> Bool
    ) async throws {
        let start = ContinuousClock.now
        while try !isReached() {
            guard ContinuousClock.now - start < span else {
                throw PostgresServer.Failure("it does not come: \(try state())")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    func end() {
        for loop in loops.values {
            loop.signal(SIGCONT)
            loop.signal(SIGKILL)
        }
        relays.forEach { $0.end() }
    }
}
