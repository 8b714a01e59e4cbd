@testable import ClarityHost
import ClarityScheduler
import ClarityTestSupport
import Glibc
import Database
import Testing

@Suite("The store in SQLite")
struct SQLiteRunStoreTests {
    let bed: SQLiteRunStoreBed

    init() throws { bed = try SQLiteRunStoreBed() }

    @Test(arguments: [
        "UPDATE runs SET state = 'sleeping'",
        "UPDATE runs SET state = 'running'",
        "UPDATE runs SET state = 'succeeded'",
        "UPDATE runs SET finished_at_ms = 1",
        "UPDATE runs SET lease_owner = 'somebody'",
        "UPDATE runs SET trigger = 'whim'",
        "UPDATE runs SET failures = 1",
        "UPDATE runs SET attempts = 1",
        "UPDATE runs SET state = 'failed', finished_at_ms = 1",
        "UPDATE runs SET attempts = 'many'",
        "INSERT INTO attempts VALUES (1, 0, 0, NULL, 'running', NULL, NULL, '', 0)",
        "INSERT INTO attempts VALUES (1, 1, 0, NULL, 'succeeded', NULL, NULL, '', 0)",
        "INSERT INTO attempts VALUES (99, 1, 0, NULL, 'running', NULL, NULL, '', 0)",
        "INSERT INTO occurrence_fates VALUES ('a', 0, 2, 1, 1, 'skipped', NULL)",
    ])
    func `the schema refuses what the state machine does not have`(statement: String) throws {
        let (store, _) = try bed.open()
        let run = try enqueuedRun()
        try store.decide { _ in [.put(run)] }
        let connection = try FileConnection(path: "\(bed.path)/history.db")
        try connection.execute("PRAGMA foreign_keys = ON")

        let error = #expect(throws: DatabaseError.self) { try connection.execute(statement) }

        #expect(error?.isConstraint == true)
    }

    @Test func `the log goes into the file when there is a rest and enough of it`() throws {
        let (store, _) = try bed.open()
        let job = try #require(JobID("a"))
        func write(_ count: Int) throws {
            for second in 0..<count {
                let clock = JobClock(anchor: .noon, considered: .noon + .seconds(second))
                try store.decide { _ in [.setClock(job, clock)] }
            }
        }
        // Reads the file without its log.
        func inFile() throws -> Int64? {
            try FileConnection(path: "\(bed.path)/history.db", access: .immutable).first(
                "SELECT considered_until_ms FROM job_records"
            ) { $0.integer(0) }
        }

        try write(199)
        store.tidy()
        // The file does not even contain the tables yet.
        #expect(throws: DatabaseError.self) { try inFile() }
        try write(200)
        store.tidy()

        #expect(try inFile() == (Instant.noon + .seconds(199)).millisecondsSince1970)
    }

    /// The log must keep what is newer than a reader's snapshot, so it grows while the reader
    /// reads: here to 22 MiB, although it otherwise restarts at 16 MiB.
    @Test func `a log that a reader has made long is short again when he has gone`() throws {
        let (store, _) = try bed.open()
        let path = "\(bed.path)/history.db"
        let jobs = try (0..<60).map {
            try #require(JobID("job-\($0)-\(String(repeating: "x", count: 60))"))
        }
        func write(_ count: Int) throws {
            for second in 0..<count {
                let clock = JobClock(anchor: .noon, considered: .noon + .seconds(second))
                try store.decide { _ in jobs.map { .setClock($0, clock) } }
                store.tidy()
            }
        }
        func logSize() -> Int {
            var attributes = stat()
            return stat("\(path)-wal", &attributes) == 0 ? Int(attributes.st_size) : 0
        }
        try write(1)
        let reader = try FileConnection(path: path, access: .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM job_records")
        try write(900)
        let longest = logSize()

        try reader.execute("COMMIT")
        try write(10)

        #expect(longest > 20 << 20, "\(longest)")
        #expect(logSize() <= 17 << 20, "\(logSize())")
    }

    @Test func `reading the history leaves the folder as it was, byte for byte`() throws {
        let (store, _) = try bed.open()
        let run = try enqueuedRun()
        try store.decide { _ in [.put(run)] }
        bed.end(try #require(ownerNames().first))
        let before = try bed.folder.contents()

        let history = try RunHistory(inDirectory: bed.path)
        let runs = try history.runs(of: nil, limit: 10)
        _ = try history.ledger()

        #expect(runs == [run])
        #expect(try bed.folder.contents() == before)
    }

    @Test func `a history that does not exist is empty and is not made`() throws {
        let folder = try TemporaryFolder()

        let history = try RunHistory(inDirectory: "\(folder.path)/none")

        #expect(try history.runs(of: nil, limit: 10) == [])
        #expect(try folder.contents() == [:])
    }

    @Test func `a newer schema is refused and left as it is`() throws {
        _ = try bed.open()
        let connection = try FileConnection(path: "\(bed.path)/history.db")
        try connection.execute("PRAGMA user_version = 99")

        let error = #expect(throws: RunStoreError.self) { try bed.open() }

        let newest = historyMigrations.newest
        #expect(
            error
                == .otherVersion(
                    "history `\(bed.path)/history.db` has version 99, this program knows "
                        + "\(newest); use a newer clarity-jobs"))
    }

    @Test func `a file that is no database is refused in one line`() throws {
        mkdir(bed.path, 0o700)
        try bed.folder.write("state/history.db", Array("this is no database".utf8))

        let error = #expect(throws: RunStoreError.self) { try bed.open() }

        #expect(
            error
                == .disk(
                    "cannot use history `\(bed.path)/history.db`: file is not a database "
                        + "(SQLite 26); there is no backup to restore"))
    }

    @Test func `the state folder is open to its owner alone`() throws {
        mkdir(bed.path, 0o755)

        _ = try bed.open()

        var status = stat()
        #expect(stat(bed.path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o700)
    }

    @Test func `a deferral keeps its beginning while it holds and gets an end after`() throws {
        let (store, _) = try bed.open()
        let run = try enqueuedRun()
        func waits(for measured: String) -> [Deferral] {
            [
                Deferral(
                    .constraint, subject: "battery_above", wanted: "above 20 %",
                    measured: measured, source: "BAT0")
            ]
        }
        try store.decide { _ in [.put(run), .deferred(run.id, waits(for: "17 %"), at: .noon)] }
        try store.decide { _ in
            [.deferred(run.id, waits(for: "18 %"), at: .noon + .seconds(60))]
        }
        try store.decide { _ in [.deferred(run.id, [], at: .noon + .seconds(90))] }

        let spans = try RunHistory(inDirectory: bed.path).deferrals(of: run.id)

        #expect(spans.map(\.deferral.measured) == ["18 %"])
        #expect(spans.map(\.since) == [.noon])
        #expect(spans.map(\.until) == [.noon + .seconds(90)])
    }

    @Test func `a deferral may begin twice in one instant`() throws {
        let (store, _) = try bed.open()
        let run = try enqueuedRun()
        let waits = Deferral(
            .constraint, subject: "network", wanted: "connected", measured: "not connected",
            source: "/proc/net/route")

        try store.decide { _ in
            [
                .put(run), .deferred(run.id, [waits], at: .noon),
                .deferred(run.id, [], at: .noon), .deferred(run.id, [waits], at: .noon),
            ]
        }

        let spans = try RunHistory(inDirectory: bed.path).deferrals(of: run.id)
        #expect(spans.map(\.since) == [.noon])
        #expect(spans.map(\.until) == [nil])
    }

    private func enqueuedRun() throws -> Run {
        Run(
            id: RunID(1), job: try #require(JobID("a")), kind: JobKind("work"),
            trigger: .schedule, scheduledFor: .noon, enqueuedAt: .noon)
    }

    private func ownerNames() throws -> [String] {
        try bed.folder.contents().keys.filter { $0.hasPrefix("state/owners/") }
            .map { String($0.dropFirst("state/owners/".count)) }
    }
}
