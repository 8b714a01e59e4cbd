import ClarityTestSupport
import Testing

@testable import Database

/// An engine under test.
enum EngineName: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case sqlite = "SQLite"
    case postgreSQL = "PostgreSQL"

    var testDescription: String { rawValue }

    /// The engines that this machine has.
    static var here: [EngineName] {
        PostgresServer.isAvailable ? allCases : [.sqlite]
    }

    /// Opens an empty database.
    func open() async throws -> Connection {
        switch self {
        case .sqlite: return try FileConnection(path: "")
        case .postgreSQL:
            let connection = try ServerConnection(try await PostgresServer.shared().makeDatabase())
            try connection.execute(PostgresSchema.functions)
            return connection
        }
    }

    /// Opens a database with a table `t` of an integer that is its key, a text and a blob.
    func openTable() async throws -> Connection {
        let connection = try await open()
        let (integer, blob, real) =
            self == .sqlite
            ? ("INTEGER", "BLOB", "REAL") : ("bigint", "bytea", "double precision")
        try connection.execute(
            "CREATE TABLE t (id \(integer) PRIMARY KEY, name TEXT, bytes \(blob), x \(real))")
        return connection
    }
}

@Suite("What every engine keeps to")
struct EngineTests {
    @Test(
        arguments: EngineName.here,
        ["it's", "'", "it'\u{301}s", "\"\u{301} a\" \"", "'\u{301}); SELECT 'no'; --"])
    func `a text in a statement is what it was, whatever quotes it has`(
        engine: EngineName, text: String
    ) async throws {
        let connection = try await engine.open()
        let name = ServerSchema.quoted(text)

        let read = try connection.all("SELECT \(ServerSchema.literal(text))") { $0.text(0) }
        try connection.execute("CREATE TABLE \(name) (\(name) TEXT)")
        let counted = try connection.all("SELECT count(\(name)) FROM \(name)") { $0.integer(0) }

        #expect(read.map { Array($0.utf8) } == [Array(text.utf8)])
        #expect(counted == [0])
    }

    @Test(arguments: EngineName.here)
    func `a value comes back as it was`(engine: EngineName) async throws {
        let connection = try await engine.openTable()
        let texts = ["", "a", "ä✓\n\t'\"\\", String(repeating: "x", count: 100_000)]
        let blobs: [[UInt8]] = [[], [0], [0, 255, 0, 92, 120], Array(0...255)]
        let numbers: [Int64] = [.min, -1, 0, 1, .max]

        for (place, number) in numbers.enumerated() {
            let row: [Value] = [
                .integer(number), .text(texts[place % 4]), .blob(blobs[place % 4]),
                .real(0.5 * Double(place)),
            ]
            try connection.forEach("INSERT INTO t VALUES (?, ?, ?, ?)", row) { _ in }
            let found = try connection.first("SELECT * FROM t WHERE id = ?", .integer(number)) {
                row -> [Value] in
                [
                    .integer(row.integer(0)), .text(row.text(1)), .blob(row.blob(2)),
                    .real(row.real(3)),
                ]
            }
            #expect(found == row)
        }
    }

    @Test(arguments: EngineName.here)
    func `NULL is nothing, and a truth is 0 or 1`(engine: EngineName) async throws {
        let connection = try await engine.openTable()
        try connection.run("INSERT INTO t VALUES (1, ?, ?, NULL)", .text(nil), .null)

        let row = try connection.first("SELECT name, bytes, x, id = 1, id = 2, name = 'a' FROM t") {
            row in
            (
                row.optionalText(0), row.blob(1), row.isNull(2), row.integer(3), row.integer(4),
                row.optionalInteger(5)
            )
        }

        let found = try #require(row)
        #expect(found == (nil, [], true, 1, 0, nil))
    }

    @Test(arguments: EngineName.here)
    func `parameters are counted as in SQLite`(engine: EngineName) async throws {
        let connection = try await engine.openTable()
        try connection.run(
            "INSERT INTO t (name, id) VALUES (?2, ?1)", .integer(7), .text("seven"))
        try connection.run("UPDATE t SET name = ?2 || ? WHERE id = ?1", .integer(7), "a", "b")

        #expect(try connection.all("SELECT name FROM t") { $0.text(0) } == ["ab"])
    }

    @Test(arguments: EngineName.here)
    func `the rows that changed are counted`(engine: EngineName) async throws {
        let connection = try await engine.openTable()
        for id in Int64(1)...3 { try connection.run("INSERT INTO t (id) VALUES (?)", .integer(id)) }

        #expect(try connection.change("UPDATE t SET name = 'a' WHERE id > 1") == 2)
        #expect(
            try connection.change("INSERT INTO t (id) VALUES (1) ON CONFLICT (id) DO NOTHING") == 0)
        #expect(try connection.insert("INSERT INTO t (id) VALUES (9) RETURNING id") == 9)
        try connection.transaction {
            try connection.run("DELETE FROM t WHERE id = 9")
            #expect(try connection.change("DELETE FROM t WHERE name = 'a'") == 2)
        }
    }

    @Test(arguments: EngineName.here)
    func `a failed transaction leaves nothing, and the next one works`(
        engine: EngineName
    ) async throws {
        let connection = try await engine.openTable()

        let error = #expect(throws: DatabaseError.self) {
            try connection.transaction {
                try connection.run("INSERT INTO t (id) VALUES (1)")
                try connection.run("INSERT INTO t (id) VALUES (1)")
            }
        }
        #expect(error?.kind == .constraint)
        #expect(try connection.all("SELECT id FROM t") { $0.integer(0) } == [])
        try connection.transaction { try connection.run("INSERT INTO t (id) VALUES (2)") }
        #expect(try connection.all("SELECT id FROM t") { $0.integer(0) } == [2])
    }

    @Test(arguments: EngineName.here)
    func `transactions that write follow one another`(engine: EngineName) async throws {
        let folder = try TemporaryFolder()
        let address =
            engine == .postgreSQL ? try await PostgresServer.shared().makeDatabase() : nil
        let open = { @Sendable () throws -> Connection in
            guard let address else { return try FileConnection(path: "\(folder.path)/t.db") }
            return try ServerConnection(
                address, writeLock: "LOCK TABLE t IN SHARE UPDATE EXCLUSIVE MODE")
        }
        try open().execute("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (0)")

        // Each reads before it writes: without the lock, increments would be lost.
        let writer = { @Sendable () throws in
            let connection = try open()
            for _ in 0..<50 {
                try connection.transaction {
                    let number = try connection.first("SELECT n FROM t") { $0.integer(0) } ?? 0
                    try connection.run("UPDATE t SET n = ?", .integer(number + 1))
                }
            }
        }
        async let first: Void = blocking(writer)
        async let second: Void = blocking(writer)
        _ = try await (first, second)

        #expect(try open().first("SELECT n FROM t") { $0.integer(0) } == 100)
    }

    @Test(arguments: EngineName.here)
    func `a name that the schema has not is damage`(engine: EngineName) async throws {
        let connection = try await engine.openTable()

        for sql in ["SELECT nosuch FROM t", "SELECT 1 FROM nowhere", "SELECT nofunction(1)"] {
            let error = #expect(throws: DatabaseError.self) { try connection.run(sql) }
            #expect(error?.kind == .damage, "\(sql): \(String(describing: error))")
        }
    }

    @Test(arguments: EngineName.here)
    func `the functions of the statements mean the same`(engine: EngineName) async throws {
        let connection = try await engine.openTable()
        for id in Int64(1)...3 {
            try connection.run(
                "INSERT INTO t (id, bytes) VALUES (?, ?)", .integer(id), .blob([0xAB, UInt8(id)]))
        }
        let questions: [(sql: String, answer: String)] = [
            ("SELECT max(id, 2) FROM t WHERE id = 1", "2"),
            ("SELECT min(id, 2) FROM t WHERE id = 1", "1"),
            ("SELECT coalesce(max(id, NULL), -1) FROM t WHERE id = 1", "-1"),
            ("SELECT sum(id > 1) FROM t", "2"),
            ("SELECT coalesce(sum(id > 1), -1) FROM t WHERE id > 5", "-1"),
            ("SELECT iif(id = 1, id, NULL) FROM t WHERE id = 1", "1"),
            ("SELECT instr('abc', 'c')", "3"),
            ("SELECT hex(bytes) FROM t WHERE id = 2", "AB02"),
            ("SELECT count(*) FROM t WHERE id IN (SELECT value FROM json_each('[1,3]'))", "2"),
            ("SELECT group_concat(id, ', ') FROM (SELECT id FROM t ORDER BY id) AS l", "1, 2, 3"),
            ("SELECT count(*) FROM t WHERE (id = 1) = TRUE", "1"),
            ("SELECT count(*) FROM t WHERE name IS NOT DISTINCT FROM NULL", "3"),
        ]
        for (sql, answer) in questions {
            #expect(try connection.first(sql) { $0.text(0) } == answer, "\(sql)")
        }
    }

    @Test(arguments: EngineName.here)
    func `a statement runs as often as is wanted`(engine: EngineName) async throws {
        let connection = try await engine.openTable()
        let name = Array("käse".utf8)

        try connection.withStatement("INSERT INTO t (id, name, bytes) VALUES (?, ?, ?)") {
            statement in
            try name.withUnsafeBytes { name in
                try statement.bind(text: name, at: 2)
                try statement.bind(blob: name, at: 3)
                for id in Int64(1)...3 {
                    try statement.bind(id, at: 1)
                    #expect(try statement.run() == false)
                }
            }
        }

        let rows = try connection.all("SELECT id, name, bytes FROM t ORDER BY id") {
            "\($0.integer(0)) \($0.text(1)) \($0.blob(2).count)"
        }
        #expect(rows == ["1 käse 5", "2 käse 5", "3 käse 5"])
    }

    /// A server gets more rows than go in one statement; one of them is there already.
    @Test(arguments: EngineName.here)
    func `an insertion of many rows leaves each as it was bound`(engine: EngineName) async throws {
        let connection = try await engine.openTable()
        try connection.run("INSERT INTO t (id, name) VALUES (?, ?)", .integer(70), .text("there"))
        func row(_ number: Int64) -> [Value] {
            [
                .integer(number), number == 1 ? .null : .text("('?') \(number)"),
                number == 2 ? .null : .blob([0, UInt8(truncatingIfNeeded: number)]),
                number == 3 ? .null : .real(Double(number) / 4),
            ]
        }

        let inserted = try connection.withInsertion(
            "INSERT INTO t (id, name, bytes, x) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO NOTHING"
        ) { insertion in
            for number in 0..<700 as Range<Int64> {
                try insertion.bind(row(number))
                try insertion.run()
            }
        }

        #expect(inserted == 699)
        #expect(try connection.integer("SELECT count(*) FROM t") == 700)
        for number in [0, 1, 2, 3, 511, 512, 699] as [Int64] {
            let found = try connection.first(
                "SELECT id, name, bytes, x FROM t WHERE id = ?", .integer(number)
            ) { found -> [Value] in
                [
                    .integer(found.integer(0)), .text(found.optionalText(1)),
                    found.isNull(2) ? .null : .blob(found.blob(2)),
                    found.isNull(3) ? .null : .real(found.real(3)),
                ]
            }
            #expect(found == row(number))
        }
    }

    @Test(arguments: EngineName.here)
    func `an insertion takes constants, and a parameter out of order`(
        engine: EngineName
    ) async throws {
        let connection = try await engine.openTable()

        try connection.withInsertion("INSERT INTO t (name, id, x) VALUES (?2, ?1, 0.5)") {
            try $0.bind([.integer(7), .text("seven")])
            try $0.run()
        }

        #expect(
            try connection.all("SELECT id, name, x FROM t") {
                "\($0.integer(0)) \($0.text(1)) \($0.real(2))"
            } == ["7 seven 0.5"])
    }

    @Test(arguments: EngineName.here)
    func `the error of a row that was refused is thrown`(engine: EngineName) async throws {
        let connection = try await engine.openTable()

        #expect(throws: DatabaseError.self) {
            try connection.withInsertion("INSERT INTO t (id) VALUES (?)") { insertion in
                for number in [1, 2, 1] as [Int64] {
                    try insertion.bind(number, at: 1)
                    try insertion.run()
                }
            }
        }
    }
}
