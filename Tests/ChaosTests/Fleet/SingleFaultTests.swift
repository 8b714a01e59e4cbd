import ClarityTestSupport
import Database
import Glibc
@testable import ClarityHost
@testable import ProgramTestSupport
import Testing

/// Faults of a database that strike one session or one statement alone. Where all sessions of a
/// loop end at once, each of its parts notices by itself; here the others have to be told.
@Suite(
    "One fault at a time", .serialized, .timeLimit(.minutes(10)),
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct SingleFaultTests {
    enum Fault: String, CaseIterable, CustomTestStringConvertible {
        /// The server ends the session in which a loop decides.
        case decisionSession
        /// The server ends the session by which a loop proves that it lives.
        case beatSession
        /// An administrator cancels one statement of a decision.
        case statement
        /// The server takes no writes for a while.
        case readOnly
        /// The server's disk is full for a while.
        case disk
        /// Something on the way drops the connection that is idle the longest.
        case idleConnection
        /// Nobody reads what a loop writes to standard error.
        case output

        var testDescription: String { rawValue }

        /// How long the fault lasts.
        var span: Duration {
            switch self {
            case .readOnly: .seconds(ChaosPlan.current.size(slice: 2, whole: 8))
            case .disk: .seconds(ChaosPlan.current.size(slice: 2, whole: 25))
            default: .zero
            }
        }
    }

    @Test(arguments: Fault.allCases, ChaosPlan.current.isWhole ? [1, 2] : [2])
    func `after a single fault the next start comes within five seconds`(
        fault: Fault, loops: Int
    ) async throws {
        guard fault != .disk || TinyDisk.isAllowed else { return }
        var line = ChaosLine("fleet", measures: [.stuck, .crashes])
        let scene = try await StartingLoops(loops, onTinyDisk: fault == .disk)
        defer { scene.end() }
        for _ in 0..<ChaosPlan.current.size(slice: 1, whole: 3) {
            try await scene.waitForStart(within: .seconds(20))

            try await strike(fault, scene)
            let isBack = try await scene.startsAgain(within: .seconds(5))

            line.rounds += 1
            line.faults["single-\(fault)", default: 0] += 1
            line.stuck += isBack ? 0 : 1
            #expect(isBack, "no start within 5 s after \(fault)")
        }
        let failed = try await scene.quit()
        line.crashes = failed.count
        line.tell()
        #expect(failed.isEmpty, "\(failed.map { "\($0.status): \($0.errors.suffix(600))" })")
        #expect(try scene.overlaps() == 0)
    }

    /// What a loop did that waited for a session of its own.
    @Test func `a session that holds the lead and decides nothing is reported`() async throws {
        let receiver = try ScriptedServer([.answer(), .answer()])
        let scene = try await StartingLoops(
            1, settings: "notify: [{ kind: ntfy, url: \"\(receiver.url)/topic\" }]")
        defer { scene.end() }
        try await scene.waitForStart(within: .seconds(20))

        let holder = try await scene.takeLead()
        let isBack = try await scene.startsAgain(within: .seconds(5))
        let status = try await scene.run("status", "--quiet")
        let all = try await scene.run("status", "--all", "--quiet")
        let notified = try await scene.run("run", "notify")
        holder.close()
        let isBackLater = try await scene.startsAgain(within: .seconds(5))

        #expect(!isBack && isBackLater)
        #expect(status.status == 1)
        #expect(status.output.contains("no loop decides"), "\(status.output)")
        #expect(all.status == 1)
        #expect(all.errors.contains("no loop decides"), "\(all.errors)")
        let messages = receiver.requests.map(\.body)
        #expect(
            messages.first?.hasPrefix("loops run, and none of them decides") == true,
            "\(messages) \(notified)")
    }

    private func strike(_ fault: Fault, _ scene: StartingLoops) async throws {
        let admin = try scene.server.administrator()
        switch fault {
        case .decisionSession:
            try admin.run(
                "SELECT pg_terminate_backend(?)", .integer(try await scene.decisionSession()))
        case .beatSession:
            try admin.run("SELECT pg_terminate_backend(?)", .integer(try scene.leadersBeat()))
        case .statement:
            let session = try await scene.decisionSession()
            try scene.holdingDecisions {
                try admin.run("SELECT pg_cancel_backend(?)", .integer(session))
            }
        case .readOnly:
            try admin.execute("ALTER SYSTEM SET default_transaction_read_only = on")
            try admin.execute("SELECT pg_reload_conf()")
            try await Task.sleep(for: fault.span)
            try admin.execute("SET default_transaction_read_only = off")
            try admin.execute("ALTER SYSTEM RESET default_transaction_read_only")
            try admin.execute("SELECT pg_reload_conf()")
        case .disk:
            let disk = try #require(scene.disk)
            try await blocking { try disk.fill() }
            try await Task.sleep(for: fault.span)
            try disk.makeSpace(kibibytes: 140 * 1024)
            // It ends where it cannot write its log, and is then started again by its service.
            guard (try? scene.server.administrator()) == nil else { return }
            await scene.server.crash()
            try await scene.server.restart()
        case .idleConnection: scene.dropIdleConnection()
        case .output: try scene.blockOutput()
        }
    }
}

/// Loops that share a database and start a job each second, which notes its start and its end.
final class StartingLoops {
    let server: PostgresServer
    let disk: TinyDisk?
    private let place: TemporaryFolder?
    private let database: StateDatabase
    private let playground: Playground
    private let relay: Relay
    private var loops: [ChildProgram] = []
    /// The folder of the programs, if one of them is not the built one.
    private let programs: TemporaryFolder?

    /// - Parameters:
    ///   - command: a shell script for the job; `FOLDER` is that of `notes`.
    ///   - keeper: a shell script in place of `clarity-jobs-keeper`.
    init(
        _ count: Int, onTinyDisk: Bool = false, command: String? = nil, every: String = "1s",
        keeper: String? = nil, settings: String = ""
    ) async throws {
        programs = keeper == nil ? nil : try TemporaryFolder()
        if let programs, let keeper {
            for name in ["clarity-jobs", "clarity-jobs-worker"] { try programs.linkProgram(name) }
            try programs.write("clarity-jobs-keeper", Array("#!/bin/sh\n\(keeper)\n".utf8))
            try #require(chmod("\(programs.path)/clarity-jobs-keeper", 0o700) == 0)
        }
        place = onTinyDisk ? try TemporaryFolder() : nil
        disk = try place.map { try TinyDisk(on: "\($0.path)/data", kibibytes: 120 * 1024) }
        server = try await PostgresServer(in: place)
        database = try await StateDatabase(on: server)
        playground = try await Playground(sandboxOptions: nil, on: database)
        relay = try Relay(to: database.address.host, in: playground.folder.path)
        let script =
            command ?? "echo \"b $$\" >>\(playground.folder.path)/notes; "
            + "echo \"e $$\" >>\(playground.folder.path)/notes"
        let folder = playground.folder.path
        try playground.write { _, _ in
            """
            version: 1
            jobs:
              - id: tick
                kind: command
                schedule: { every: \(every) }
                options: { command: [sh, -c, '\(script.replacing("FOLDER", with: folder))'] }
            \(settings)

            """
        }
        var address = database.address
        address.host = folder
        let path = playground.jobFilePath
        let text = String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
            .replacing(database.address.uri, with: address.uri)
        try playground.folder.write("jobs.yaml", Array(text.utf8))
        for _ in 0..<count { try start() }
    }

    func start() throws {
        loops.append(
            try playground.start(
                ["loop"], program: programs.map { "\($0.path)/clarity-jobs" }))
    }

    /// The loops that run, in the order of their starts.
    var running: [ChildProgram] { loops }

    /// Forgets a loop that the test has ended.
    func forget(_ loop: ChildProgram) { loops.removeAll { $0 === loop } }

    func run(_ arguments: String...) async throws -> ProgramResult {
        try await playground.start(arguments).finish()
    }

    // MARK: Sessions

    /// The process of the server for the session in which the leader decides.
    func decisionSession() async throws -> Int64 {
        let admin = try server.administrator(of: database.address.database)
        var session: Int64?
        // Between its transactions it shows the end of the last one.
        try await wait {
            session = try admin.integer(
                """
                SELECT pid FROM pg_stat_activity, clarity_history.lead
                WHERE datname = ? AND application_name = 'clarity-decisions/' || leader
                    AND (query = 'COMMIT' OR query LIKE '%pg_notify%' OR query LIKE '%FROM writes%')
                ORDER BY query_start DESC LIMIT 1
                """, .text(database.address.database))
            return session != nil
        }
        return try #require(session)
    }

    /// The process of the server for the session by which the leader proves that it lives.
    func leadersBeat() throws -> Int64 {
        try #require(
            try server.administrator(of: database.address.database).integer(
                """
                SELECT pid FROM pg_stat_activity, clarity_history.lead
                WHERE split_part(application_name, ' ', 2) = leader
                """) as Int64?)
    }

    /// Lets decisions wait for their lock while `body` runs.
    func holdingDecisions(_ body: () throws -> Void) throws {
        let blocker = try ServerHistory.connect(to: database.address)
        let admin = try server.administrator()
        try blocker.transaction {
            _ = try blocker.integer("SELECT 1")
            var waits = 0
            while try admin.integer(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'relation' AND NOT granted") == 0
            {
                try #require(waits < 1000, "no decision came")
                waits += 1
                usleep(10_000)
            }
            try body()
        }
    }

    /// Ends the session of the leader, and takes the lead before a loop does.
    func takeLead() async throws -> ServerConnection {
        let holder = try ServerConnection(database.address)
        try server.administrator().run(
            "SELECT pg_terminate_backend(?)", .integer(try leadersBeat()))
        try SessionMark.set("holder", "mark", on: holder)
        try await wait { try ServerHistory.takeLead(as: "mark", holder) }
        return holder
    }

    func dropIdleConnection() { relay.dropIdlest() }

    /// Fills the pipe of standard error of each loop, which nobody reads.
    func blockOutput() throws {
        for loop in loops {
            let pipe = open("/proc/\(loop.processID)/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            guard pipe >= 0 else { throw TemporaryFolder.Errno(code: errno) }
            defer { close(pipe) }
            let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: 4096)
            while write(pipe, bytes, bytes.count) > 0 {}
            while write(pipe, bytes, 1) > 0 {}
        }
    }

    // MARK: What the jobs noted

    /// The lines that the jobs wrote.
    func notes() throws -> [String] {
        let path = "\(playground.folder.path)/notes"
        guard access(path, F_OK) == 0 else { return [] }
        return String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
            .split(separator: "\n").map(String.init)
    }

    func waitForStart(within span: Duration) async throws {
        try #require(try await startsAgain(within: span), "no job was started at all")
    }

    /// Waits for two more starts: one may have been decided before the fault.
    func startsAgain(within span: Duration) async throws -> Bool {
        let before = try starts()
        let deadline = ContinuousClock.now + span
        while try starts() < before + 2 {
            guard ContinuousClock.now < deadline else { return false }
            try await Task.sleep(for: .milliseconds(20))
        }
        return true
    }

    /// The processes of the jobs, in the order of their starts.
    func begins() throws -> [Substring] {
        try notes().filter { $0.hasPrefix("b") }.map { $0.dropFirst(2) }
    }

    /// Returns what other processes noted after the start with a number from 0.
    func notesAfterBegin(number: Int) throws -> [String] {
        let process = try begins()[number]
        let notes = try notes()
        let place = notes.lastIndex { $0 == "b \(process)" } ?? 0
        return notes[place...].filter { !$0.hasSuffix(" \(process)") }
    }

    func wait(until isReached: () throws -> Bool) async throws {
        let start = ContinuousClock.now
        while try !isReached() {
            try #require(ContinuousClock.now - start < .seconds(20), "it does not come")
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    private func starts() throws -> Int { try notes().count { $0.hasPrefix("b") } }

    /// Returns how often the job began while it was running already.
    func overlaps() throws -> Int {
        var running = 0
        var overlaps = 0
        for note in try notes() {
            running += note.hasPrefix("b") ? 1 : -1
            if running > 1 { overlaps += 1 }
        }
        return overlaps
    }

    // MARK: The end

    /// Ends the loops, and returns those that did not end as asked.
    func quit() async throws -> [ProgramResult] {
        var failed: [ProgramResult] = []
        for loop in loops {
            loop.signal(SIGTERM)
            let result = await loop.finish()
            if result.status != 128 + SIGTERM { failed.append(result) }
        }
        loops = []
        return failed
    }

    func end() {
        loops.forEach { $0.signal(SIGKILL) }
        relay.end()
        disk?.remove()
    }
}
