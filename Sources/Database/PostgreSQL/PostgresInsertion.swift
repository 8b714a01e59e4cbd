/// Rows that go to the server several at a time, as an array for each column: much of what a
/// statement costs does not depend on its rows.
///
/// The server inserts what it has while this side makes the next rows.
final class PostgresInsertion: EngineStatement {
    /// The number of rows in one statement: few enough that the server gets to work early.
    private static let most = 512

    private let form: InsertionForm
    private let engine: PostgresEngine
    private var row: [Bound]
    private var columns: [PostgresArray]

    /// A value, or where its bytes are.
    private enum Bound {
        case value(Value)
        case blob(UnsafeRawBufferPointer)
        case text(UnsafeRawBufferPointer)
    }

    init(_ form: InsertionForm, _ engine: PostgresEngine) {
        (self.form, self.engine) = (form, engine)
        row = form.types.map { _ in .value(.null) }
        columns = form.types.map { PostgresArray(of: $0) }
    }

    func bind(_ value: Value, at index: Int32) { row[Int(index) - 1] = .value(value) }

    func bind(blob bytes: UnsafeRawBufferPointer, at index: Int32) {
        row[Int(index) - 1] = .blob(bytes)
    }

    func bind(text bytes: UnsafeRawBufferPointer, at index: Int32) {
        row[Int(index) - 1] = .text(bytes)
    }

    func run() throws(DatabaseError) -> Bool {
        for place in row.indices {
            let fits =
                switch row[place] {
                case .value(let value): columns[place].append(value)
                case .blob(let bytes): columns[place].append(bytes, as: .blob)
                case .text(let bytes): columns[place].append(bytes, as: .text)
                }
            guard fits else {
                throw DatabaseError(
                    kind: .other, message: "value \(place + 1) does not have the column's type",
                    code: "PostgreSQL 42804", statement: form.text)
            }
        }
        if columns.first?.count == PostgresInsertion.most { try finish() }
        return false
    }

    /// Sends the rows that have not gone yet.
    func finish() throws(DatabaseError) {
        guard let first = columns.first, first.count > 0 else { return }
        try engine.run(form.text, PostgresParameters(arrays: columns))
        for place in columns.indices { columns[place].removeAll() }
    }

    func end() {}
}

/// An `INSERT ... VALUES (...)` as PostgreSQL takes it for many rows.
///
/// `VALUES (?1, ?2)` becomes
/// `SELECT r.p1, r.p2 FROM unnest(?1::bigint[], ?2::text[]) AS r(p1, p2)`.
struct InsertionForm {
    let text: String
    let types: [PostgresArray.Element]

    /// - Parameter types: returns the types of the parameters of the text that it gets, in order.
    /// - Throws: the errors of `types`; `DatabaseError` if a parameter has a type that is in no
    ///   schema.
    init(
        _ sql: String, types: (String) throws(DatabaseError) -> [UInt32]
    ) throws(DatabaseError) {
        var (head, row, tail) = ("", "", "")
        var tokens = SQLTokens(sql)
        var (depth, given) = (0, 0)
        var (hasValues, isPastRow) = (false, false)
        while let token = tokens.next() {
            let text = token.text
            if hasValues, !isPastRow, depth > 0 || text == "(" {
                depth += text == "(" ? 1 : text == ")" ? -1 : 0
                if token.kind == .parameter {
                    let number = Int(text.dropFirst()) ?? given + 1
                    given = max(given, number)
                    row += "r.p\(number)"
                } else {
                    row += text
                }
                isPastRow = depth == 0
            } else if isPastRow {
                tail += text
            } else if token.isWord("VALUES") {
                hasValues = true
            } else {
                head += text
            }
        }
        let elements = try types(sql).map { PostgresArray.Element(rawValue: $0) }
        self.types = elements.compactMap(\.self)
        guard self.types.count == elements.count else {
            throw DatabaseError(
                kind: .other, message: "a parameter has a type that no column has",
                code: "PostgreSQL 42804", statement: sql)
        }
        let arrays = self.types.enumerated().map { "?\($0 + 1)::\($1.name)[]" }
        let names = self.types.indices.map { "p\($0 + 1)" }.joined(separator: ", ")
        text =
            head + "SELECT " + row.dropFirst().dropLast()
            + " FROM unnest(\(arrays.joined(separator: ", "))) AS r(\(names))" + tail
    }
}
