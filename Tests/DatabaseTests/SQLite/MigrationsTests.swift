import ClarityTestSupport
@preconcurrency import Glibc
import Database
import Synchronization
import Testing

func overwrite(_ path: String, with bytes: [UInt8]) {
    let descriptor = open(path, O_WRONLY | O_TRUNC)
    precondition(descriptor >= 0 && write(descriptor, bytes, bytes.count) == bytes.count)
    close(descriptor)
}

@Suite struct MigrationsTests {
    private let one = Migrations(applicationID: 7, steps: ["CREATE TABLE a (v)"])
    private let two = Migrations(
        applicationID: 7, steps: ["CREATE TABLE a (v)", "CREATE TABLE b (v)"])

    private func tables(_ connection: FileConnection) throws -> [String] {
        try connection.all("SELECT name FROM sqlite_schema ORDER BY name") { $0.text(0) }
    }

    @Test func `an empty file takes every step`() throws {
        let connection = try FileConnection(path: "")

        try two.migrate(connection)

        #expect(try tables(connection) == ["a", "b"])
        #expect(try two.version(of: connection) == 2)
    }

    @Test func `an older file takes the steps that it lacks`() throws {
        let connection = try FileConnection(path: "")
        try one.migrate(connection)
        try connection.execute("INSERT INTO a VALUES (1)")

        try two.migrate(connection)

        #expect(try tables(connection) == ["a", "b"])
        #expect(try connection.first("SELECT v FROM a") { $0.integer(0) } == 1)
    }

    @Test func `a newer file is refused and left as it is`() throws {
        let connection = try FileConnection(path: "")
        try two.migrate(connection)

        #expect(throws: Migrations.Fault.newer(found: 2, known: 1)) {
            try one.migrate(connection)
        }
        #expect(try two.version(of: connection) == 2)
    }

    @Test func `a file of before the first release is refused and left as it is`() throws {
        let released = Migrations(
            applicationID: 7, schema: "CREATE TABLE a (v); CREATE TABLE b (v)", oldest: 2,
            steps: ["CREATE TABLE b (v)"])
        let connection = try FileConnection(path: "")
        try one.migrate(connection)

        #expect(throws: Migrations.Fault.older) { try released.migrate(connection) }

        #expect(try tables(connection) == ["a"])
        try connection.execute("PRAGMA user_version = 2")
        try released.migrate(connection)
        #expect(try tables(connection) == ["a", "b"])
        #expect(try released.version(of: connection) == 3)
        let new = try FileConnection(path: "")
        try released.migrate(new)
        #expect(try tables(new) == ["a", "b"])
        #expect(try released.version(of: new) == 3)
    }

    @Test func `another program's file is refused and left as it is`() throws {
        let connection = try FileConnection(path: "")
        try connection.execute("CREATE TABLE theirs (v)")

        #expect(throws: Migrations.Fault.foreign(applicationID: 0)) {
            try one.migrate(connection)
        }
        #expect(try tables(connection) == ["theirs"])
    }

    @Test func `a failing step undoes those before it`() throws {
        let connection = try FileConnection(path: "")
        let faulty = Migrations(applicationID: 7, steps: ["CREATE TABLE a (v)", "CREATE TABLE"])

        #expect(throws: DatabaseError.self) { try faulty.migrate(connection) }

        #expect(try tables(connection) == [])
        #expect(try one.version(of: connection) == 0)
    }

    @Test func `processes that migrate at once all find the file theirs`() async throws {
        let migrations = two
        for _ in 1...40 {
            let path = TemporaryFile()
            let name = path.path
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 1...4 {
                    group.addTask {
                        let connection = try FileConnection(path: name)
                        try connection.useWriteAheadLog()
                        try migrations.migrate(connection)
                        for _ in 1...5 { _ = try migrations.version(of: connection) }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try migrations.version(of: FileConnection(path: name)) == 2)
        }
    }

    @Test func `a file is never foreign while another process migrates it`() async throws {
        let migrations = two
        for _ in 1...60 {
            let file = TemporaryFile()
            let path = file.path
            try FileConnection(path: path).useWriteAheadLog()
            let isOver = Flag()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await blocking {
                        let reader = try FileConnection(path: path)
                        while try migrations.version(of: reader) < 2, !isOver.isSet {}
                    }
                }
                group.addTask {
                    try await blocking {
                        // If the migration fails, the reader must end too.
                        defer { isOver.set() }
                        try migrations.migrate(FileConnection(path: path))
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}

private final class Flag: Sendable {
    private let state = Atomic(false)

    var isSet: Bool { state.load(ordering: .acquiring) }
    func set() { state.store(true, ordering: .releasing) }
}

/// Tests the callback that keeps a copy of a file before its schema changes.
@Suite struct KeepingMigrationsTests {
    private let file = TemporaryFile()
    private let one = Migrations(applicationID: 7, steps: ["CREATE TABLE a (x INTEGER)"])
    private let two = Migrations(
        applicationID: 7, steps: ["CREATE TABLE a (x INTEGER)", "ALTER TABLE a ADD COLUMN y TEXT"])

    private struct Refusal: Error {}

    @Test func `a file with rows is kept as it was before its first new step`() throws {
        let connection = try FileConnection(path: file.path)
        try connection.useWriteAheadLog()
        try one.migrate(connection)
        try connection.run("INSERT INTO a VALUES (5)")
        var seen: [Int64] = []
        var versions: [Int] = []

        try two.migrate(connection) { version in
            versions.append(version)
            // A backup also reads through its own connection.
            let other = try FileConnection(path: file.path, access: .readOnly)
            seen = try other.all("SELECT x, (SELECT count(*) FROM pragma_table_info('a')) FROM a") {
                $0.integer(0) * 10 + $0.integer(1)
            }
        }

        #expect(versions == [1] && seen == [51])
        #expect(try two.version(of: connection) == 2)
    }

    @Test func `nothing is kept of a file without rows, or one that is up to date`() throws {
        let connection = try FileConnection(path: file.path)
        try one.migrate(connection) { _ in throw Refusal() }
        try two.migrate(connection) { _ in throw Refusal() }
        try connection.run("INSERT INTO a VALUES (5, 'b')")
        try two.migrate(connection) { _ in throw Refusal() }
    }

    @Test func `a file that cannot be kept stays as it is`() throws {
        let connection = try FileConnection(path: file.path)
        try one.migrate(connection)
        try connection.run("INSERT INTO a VALUES (5)")

        #expect(throws: Refusal.self) { try two.migrate(connection) { _ in throw Refusal() } }

        #expect(try one.version(of: connection) == 1)
        #expect(try connection.all("SELECT * FROM a") { $0.integer(0) } == [5])
    }
}
