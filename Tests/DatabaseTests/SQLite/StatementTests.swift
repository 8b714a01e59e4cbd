import Database
import Testing

@Suite struct StatementTests {
    private func table() throws -> Connection {
        let connection = try FileConnection(path: "")
        try connection.execute(
            "CREATE TABLE t (n INTEGER, name TEXT, bytes BLOB, UNIQUE (n)) STRICT")
        return connection
    }

    @Test func `a statement runs as often as is wanted, with what is bound kept between`() throws {
        let connection = try table()
        let name: [UInt8] = Array("käse".utf8)
        let bytes: [UInt8] = [0, 1, 2, 3]

        try connection.withStatement("INSERT INTO t VALUES (?, ?, ?)") { statement in
            try name.withUnsafeBytes { try statement.bind(text: $0, at: 2) }
            try bytes.withUnsafeBytes { bytes in
                for number in 0..<3 {
                    try statement.bind(Int64(number), at: 1)
                    try statement.bind(
                        blob: UnsafeRawBufferPointer(rebasing: bytes[number...]), at: 3)
                    let name = name
                    try name.withUnsafeBytes { name in
                        try statement.bind(text: name, at: 2)
                        #expect(try statement.run() == false)
                    }
                }
            }
        }

        let rows = try connection.all("SELECT n, name, bytes FROM t ORDER BY n") {
            "\($0.integer(0)) \($0.text(1)) \($0.blob(2))"
        }
        #expect(rows == ["0 käse [0, 1, 2, 3]", "1 käse [1, 2, 3]", "2 käse [2, 3]"])
    }

    @Test func `a refused row is an error of SQLite, and the statement works on`() throws {
        let connection = try table()
        let insert = "INSERT INTO t (n) VALUES (?)"

        let error = #expect(throws: DatabaseError.self) {
            try connection.withStatement(insert) { statement in
                try statement.bind(1, at: 1)
                try statement.run()
                try statement.run()
            }
        }
        try connection.withStatement(insert) { statement in
            try statement.bind(2, at: 1)
            try statement.run()
        }

        #expect(error?.isConstraint == true)
        #expect(error?.statement == insert)
        #expect(try connection.first("SELECT count(*) FROM t") { $0.integer(0) } == 2)
    }

    @Test func `a statement returns whether it found a row`() throws {
        let connection = try table()
        try connection.run("INSERT INTO t (n) VALUES (7)")

        let found = try connection.withStatement("SELECT 1 FROM t WHERE n = ?") { statement in
            try [Int64(7), 8].map { number in
                try statement.bind(number, at: 1)
                return try statement.run()
            }
        }

        #expect(found == [true, false])
    }

    @Test func `what was bound before is gone the next time`() throws {
        let connection = try table()
        let sql = "INSERT INTO t (n) VALUES (?)"
        try connection.withStatement(sql) { try $0.bind(5, at: 1) }

        try connection.withStatement(sql) { statement in _ = try statement.run() }

        #expect(try connection.first("SELECT n IS NULL FROM t") { $0.integer(0) } == 1)
    }

    @Test func `a column's bytes are there in place, and none for NULL`() throws {
        let counts = try table().all(
            "SELECT x'0102' UNION ALL SELECT NULL UNION ALL SELECT x''"
        ) { row in row.withBlob(0) { $0.map { Int($0) } } }

        #expect(counts == [[1, 2], [], []])
    }
}
