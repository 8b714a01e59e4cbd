import CSQLite
import Testing

@testable import Database

@Suite struct ConnectionTests {
    private func connection() throws -> FileConnection {
        let connection = try FileConnection(path: "")
        try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v ANY) STRICT")
        return connection
    }

    @Test(arguments: [
        Value.null, .integer(.min), .integer(.max), .real(0.1), .text(""), .text("a\u{0}é✓"),
        .blob([]), .blob([0, 255, 0]),
    ])
    func `a bound value comes back as it was`(value: Value) throws {
        let connection = try connection()

        try connection.run("INSERT INTO t (v) VALUES (?)", value)

        let found = try connection.first("SELECT v, typeof(v) FROM t") { row -> Value in
            switch row.text(1) {
            case "null": .null
            case "integer": .integer(row.integer(0))
            case "real": .real(row.real(0))
            case "text": .text(row.text(0))
            default: .blob(row.blob(0))
            }
        }
        #expect(found == value)
    }

    @Test func `a file that cannot be opened is said with the system's reason`() {
        let error = #expect(throws: DatabaseError.self) {
            try FileConnection(path: "/dev/null/a.db")
        }

        #expect(
            error?.description == "unable to open database file: not a directory (SQLite 14)")
    }

    @Test func `an ignored insert changes no row`() throws {
        let connection = try connection()
        try connection.run("INSERT INTO t (id) VALUES (1)")

        let inserted = try connection.change(
            "INSERT INTO t (id) VALUES (1) ON CONFLICT DO NOTHING")

        #expect(inserted == 0)
    }

    @Test func `a rollback that fails does not hide the error before it`() throws {
        let connection = try connection()
        connection.refuseRollbacks()

        let error = #expect(throws: DatabaseError.self) {
            try connection.transaction {
                try connection.run("INSERT INTO t (id) VALUES (1)")
                try connection.run("INSERT INTO t (id) VALUES (1)")
            }
        }

        #expect(error?.isConstraint == true)
    }

    @Test func `a decoder names the columns of its query`() throws {
        enum Column: String, RowColumn { case size_bytes, title }
        let connection = try FileConnection(path: "")
        try connection.execute("CREATE TABLE files (title TEXT, size_bytes INTEGER)")
        try connection.run("INSERT INTO files VALUES (?, ?)", .text("a"), .integer(7))

        let file = try connection.first("SELECT \(Column.list) FROM files") {
            ($0.text(Column.title), $0.integer(Column.size_bytes))
        }

        #expect(file?.0 == "a")
        #expect(file?.1 == 7)
        #expect(Column.list == "size_bytes, title")
        #expect(Column.allCases.map(\.position) == [0, 1])
    }

    @Test func `an error undoes its transaction and is thrown on`() throws {
        let connection = try connection()

        let error = #expect(throws: DatabaseError.self) {
            try connection.transaction {
                try connection.run("INSERT INTO t (id) VALUES (1)")
                try connection.run("INSERT INTO t (id) VALUES (1)")
            }
        }

        #expect(error?.isConstraint == true)
        #expect(try connection.first("SELECT count(*) FROM t") { $0.integer(0) } == 0)
    }

    @Test func `an error that ended the transaction itself is not hidden by the rollback`() throws {
        let connection = try connection()

        let error = #expect(throws: DatabaseError.self) {
            try connection.transaction {
                try connection.run("INSERT INTO t (id) VALUES (1)")
                try connection.run("INSERT OR ROLLBACK INTO t (id) VALUES (1)")
            }
        }

        #expect(error?.isConstraint == true)
        try connection.transaction { try connection.run("INSERT INTO t (id) VALUES (2)") }
    }

    @Test func `a held write lock is reported as busy`() throws {
        let file = TemporaryFile()
        let holder = try FileConnection(path: file.path)
        try holder.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (v) ; BEGIN IMMEDIATE")
        let other = try FileConnection(path: file.path, busyTimeout: .zero)

        let error = #expect(throws: DatabaseError.self) {
            try other.run("INSERT INTO t VALUES (1)")
        }

        #expect(error?.isBusy == true)
        #expect(error?.description == "database is locked (SQLite 5)")
    }

    /// On a disk that needs most of a second for a commit, the last of 30 writers waits this long.
    @Test func `a held write lock is waited for as long as a crowd at a slow disk takes`() throws {
        let connection = try connection()

        #expect(try connection.first("PRAGMA busy_timeout") { $0.integer(0) } == 30_000)
    }

    @Test func `an error holds the statement and never a bound value`() throws {
        let connection = try connection()
        try connection.execute("CREATE TABLE u (v TEXT CHECK (length(v) < 3)) STRICT")

        let error = #expect(throws: DatabaseError.self) {
            try connection.run("INSERT INTO u VALUES (?)", "MARKER")
        }

        #expect(error?.statement == "INSERT INTO u VALUES (?)")
        #expect(error.map { String(reflecting: $0) }?.contains("MARKER") == false)
    }

    @Test func `a copy holds what the original does`() throws {
        let original = try connection()
        try original.run("INSERT INTO t (v) VALUES (?)", "kept")
        let copy = try FileConnection(path: "")

        try original.copy(into: copy)

        #expect(try copy.first("SELECT v FROM t") { $0.text(0) } == "kept")
    }

    @Test func `a missing file is not made unless asked`() throws {
        let file = TemporaryFile()

        for access in [FileConnection.Access.readWrite, .readOnly, .immutable] {
            let error = #expect(throws: DatabaseError.self) {
                try FileConnection(path: file.path, access: access)
            }
            #expect(error?.isAccess == true)
        }
    }

    @Test(arguments: ["a b.db", "a?b.db", "a#b.db", "a%20b.db"])
    func `an immutable file is found under any name`(name: String) throws {
        let file = TemporaryFile(name)
        try FileConnection(path: file.path).execute("CREATE TABLE t (v)")

        let connection = try FileConnection(path: file.path, access: .immutable)

        #expect(try connection.first("SELECT name FROM sqlite_schema") { $0.text(0) } == "t")
    }

    @Test func `a file that is no database is damage`() throws {
        let file = TemporaryFile()
        try FileConnection(path: file.path).execute("CREATE TABLE t (v)")
        overwrite(file.path, with: [UInt8](repeating: 0x41, count: 4096))

        let error = #expect(throws: DatabaseError.self) {
            try FileConnection(path: file.path).first("SELECT * FROM sqlite_schema") { $0.text(0) }
        }

        #expect(error?.isDamage == true)
    }
}

extension FileConnection {
    /// Makes each ROLLBACK fail.
    fileprivate func refuseRollbacks() {
        sqlite3_set_authorizer(
            handle,
            { _, action, operation, _, _, _ in
                action == SQLITE_TRANSACTION && operation.map { String(cString: $0) } == "ROLLBACK"
                    ? SQLITE_DENY : SQLITE_OK
            }, nil)
    }
}
