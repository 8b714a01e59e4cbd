import CPostgreSQL

/// A connection to PostgreSQL and its prepared statements.
///
/// It keeps what the texts take for granted from SQLite: a transaction that writes keeps out every
/// other writer of the same rows' owner, by a lock with the owner's key.
final class PostgresEngine: Engine {
    let link: PostgresLink
    private let text: PostgresText
    /// The advisory lock that a transaction takes before it reads.
    private let writeLock: Int64
    private var statements: [String: String] = [:]
    private(set) var changes = 0
    private(set) var totalChanges: Int64 = 0

    init(_ link: PostgresLink, _ text: PostgresText, writeLock: Int64) {
        (self.link, self.text, self.writeLock) = (link, text, writeLock)
    }

    func execute(_ script: String) throws(DatabaseError) {
        try link.exchange(
            script, send: { connection, library in library.pointee.PQsendQuery(connection, script) }
        )
    }

    func forEach(
        _ sql: String, _ values: [Value], _ body: (borrowing Row) -> Void
    ) throws(DatabaseError) {
        let name = try prepare(sql)
        let parameters = PostgresParameters(values)
        var changed: Int64 = 0
        try link.exchange(
            sql,
            send: { connection, library in
                parameters.withPointers { values, lengths, formats in
                    library.pointee.PQsendQueryPrepared(
                        connection, name, Int32(parameters.count), values, lengths, formats, 0)
                }
            }
        ) { result in
            changed =
                link.library.pointee.PQcmdTuples(result).flatMap { Int64(String(cString: $0)) } ?? 0
            for row in 0..<link.library.pointee.PQntuples(result) {
                body(Row(.postgreSQL(PostgresRow(library: link.library, result: result, row: row))))
            }
        }
        changes = Int(changed)
        totalChanges += changed
    }

    func begin(_ sql: String) throws(DatabaseError) -> any EngineStatement {
        PostgresStatement(sql, self)
    }

    func beginInsertion(_ sql: String) -> any EngineStatement { PostgresInsertion(sql, self) }

    func beginTransaction(writes: Bool) throws(DatabaseError) {
        // After the lock, each statement sees what was committed before it: in READ COMMITTED,
        // because a snapshot from before the lock would not.
        let begin =
            writes
            ? "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(\(writeLock))"
            : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        do throws(DatabaseError) {
            try execute(begin)
        } catch {
            // The transaction has begun, and waited for the lock in vain.
            rollBack()
            throw error
        }
    }

    func commit() throws(DatabaseError) { try execute("COMMIT") }

    func rollBack() {
        guard link.fault == nil, link.isInTransaction else { return }
        do throws(DatabaseError) {
            try execute("ROLLBACK")
        } catch {
            // The connection has failed, and the server rolls back by itself.
        }
    }

    /// Prepares a text once; the server infers the types of its parameters.
    private func prepare(_ sql: String) throws(DatabaseError) -> String {
        if let known = statements[sql] { return known }
        let name = "s\(statements.count)"
        let translated = text.translated(sql)
        try link.exchange(
            sql,
            send: { connection, library in
                library.pointee.PQsendPrepare(connection, name, translated, 0, nil)
            })
        statements[sql] = name
        return name
    }
}

/// Values as libpq takes them: numbers as text, bytes as they are.
struct PostgresParameters {
    private var bytes: [[UInt8]?]
    private var formats: [Int32]

    init(_ values: [Value]) {
        bytes = values.map { value in
            switch value {
            case .null: nil
            case .integer(let number): Array("\(number)\0".utf8)
            case .real(let number): Array("\(number)\0".utf8)
            case .text(let text): Array(text.utf8) + [0]
            // One byte more, so that an empty blob has an address too.
            case .blob(let bytes): bytes + [0]
            }
        }
        formats = values.map { if case .blob = $0 { 1 } else { 0 } }
    }

    var count: Int { bytes.count }

    func withPointers<Result>(
        _ body: (
            UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
        ) -> Result
    ) -> Result {
        let whole = bytes.flatMap { $0 ?? [] }
        return whole.withUnsafeBytes { whole in
            var start = 0
            let pointers = bytes.map { value -> UnsafePointer<CChar>? in
                guard let value else { return nil }
                defer { start += value.count }
                return whole.baseAddress?.advanced(by: start).assumingMemoryBound(to: CChar.self)
            }
            let lengths = bytes.map { Int32(clamping: ($0?.count ?? 1) - 1) }
            return pointers.withUnsafeBufferPointer { pointers in
                lengths.withUnsafeBufferPointer { lengths in
                    formats.withUnsafeBufferPointer { formats in
                        body(pointers.baseAddress, lengths.baseAddress, formats.baseAddress)
                    }
                }
            }
        }
    }
}

/// A statement that is run many times with values that it copies.
private final class PostgresStatement: EngineStatement {
    private let sql: String
    private let engine: PostgresEngine
    private var values: [Value] = []

    init(_ sql: String, _ engine: PostgresEngine) { (self.sql, self.engine) = (sql, engine) }

    func bind(_ value: Value, at index: Int32) { set(value, index) }

    func bind(_ number: Int64, at index: Int32) { set(.integer(number), index) }

    func bind(blob bytes: UnsafeRawBufferPointer, at index: Int32) {
        set(.blob(Array(bytes)), index)
    }

    func bind(text bytes: UnsafeRawBufferPointer, at index: Int32) {
        set(.text(String(decoding: bytes, as: UTF8.self)), index)
    }

    func run() throws(DatabaseError) -> Bool {
        var hasRow = false
        try engine.forEach(sql, values) { _ in hasRow = true }
        return hasRow
    }

    func end() { values = [] }

    private func set(_ value: Value, _ index: Int32) {
        let place = Int(index) - 1
        while values.count <= place { values.append(.null) }
        values[place] = value
    }
}
