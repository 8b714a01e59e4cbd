import Glibc
import Database
import Testing

@Suite struct WriteAheadLogTests {
    private let file = TemporaryFile()

    private func connection() throws -> FileConnection {
        let connection = try FileConnection(path: file.path)
        try connection.useWriteAheadLog()
        try connection.execute("CREATE TABLE IF NOT EXISTS t (v BLOB) STRICT")
        return connection
    }

    /// Writes about 50 pages in one commit.
    private func fill(_ connection: FileConnection) throws {
        try connection.transaction {
            for _ in 0..<50 { try connection.run("INSERT INTO t VALUES (zeroblob(4000))") }
        }
    }

    private func size() -> Int {
        var attributes = stat()
        return stat(file.path, &attributes) == 0 ? Int(attributes.st_size) : -1
    }

    @Test func `a checkpoint copies the log into the file`() throws {
        let connection = try connection()
        try fill(connection)
        let before = size()

        let isDone = try connection.checkpoint()

        #expect(isDone)
        #expect(before < 50 * 4000)
        #expect(size() > 50 * 4000)
    }

    /// Before 3.51.3, SQLite may lose data if a commit restarts the log while another connection
    /// copies it.
    @Test func `a checkpoint leaves the log alone while another connection writes`() throws {
        let (connection, other) = (try connection(), try connection())
        try fill(connection)
        let before = size()

        let isDone = try other.transaction { try connection.checkpoint() }
        let during = size()
        try connection.checkpoint()

        #expect(!isDone)
        #expect(during == before)
        #expect(size() > 50 * 4000)
    }

    @Test func `a commit past the limit copies the log, one before it does not`() throws {
        let connection = try connection()
        connection.logLimit = 80

        try fill(connection)
        let first = size()
        try fill(connection)

        #expect(first < 50 * 4000)
        #expect(size() > 100 * 4000)
    }

    @Test func `SQLite itself copies no log after a commit`() throws {
        let connection = try connection()

        #expect(try connection.first("PRAGMA wal_autocheckpoint") { $0.integer(0) } == 0)
    }

    @Test func `a database without a log has nothing to copy`() throws {
        let connection = try FileConnection(path: "")
        try connection.execute("CREATE TABLE t (v BLOB) STRICT")

        try connection.checkpoint()

        #expect(try connection.first("SELECT count(*) FROM t") { $0.integer(0) } == 0)
    }
}
