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

    /// Takes arrays in binary form, one for each column of the rows to insert.
    init(arrays: [PostgresArray]) {
        bytes = arrays.map { $0.encoded + [0] }
        formats = arrays.map { _ in 1 }
    }

    var count: Int { bytes.count }

    /// The length of all values.
    var size: Int { bytes.reduce(0) { $0 + ($1?.count ?? 0) } }

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

/// The values of a column, as an array in PostgreSQL's binary form: what `array_recv` takes
/// (src/backend/utils/adt/arrayfuncs.c).
struct PostgresArray {
    /// The types that columns have, by their numbers in `pg_type`.
    enum Element: UInt32 {
        case blob = 17
        case integer = 20
        case text = 25
        case real = 701

        var name: String {
            switch self {
            case .blob: "bytea"
            case .integer: "bigint"
            case .text: "text"
            case .real: "double precision"
            }
        }
    }

    let element: Element
    private(set) var count = 0
    private var hasNull = false
    private var bytes: [UInt8] = []

    init(of element: Element) { self.element = element }

    /// Appends a value; returns whether it has the type, or becomes it without a loss.
    mutating func append(_ value: Value) -> Bool {
        switch (value, element) {
        case (.null, _):
            append(UInt32.max)
            hasNull = true
            count += 1
        case (.integer(let number), .integer):
            append(length: 8) { $0.append(UInt64(bitPattern: number)) }
        case (.integer(let number), .real):
            append(length: 8) { $0.append(Double(number).bitPattern) }
        case (.real(let number), .real):
            append(length: 8) { $0.append(number.bitPattern) }
        case (.text(let text), .text):
            append(length: text.utf8.count) { $0.bytes += text.utf8 }
        case (.blob(let blob), .blob):
            append(length: blob.count) { $0.bytes += blob }
        default: return false
        }
        return true
    }

    /// Appends bytes; returns whether they are of the type.
    mutating func append(_ value: UnsafeRawBufferPointer, as type: Element) -> Bool {
        guard type == element else { return false }
        append(length: value.count) { $0.bytes += value }
        return true
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        (count, hasNull) = (0, false)
    }

    /// The array, with its dimension before the elements.
    var encoded: [UInt8] {
        var header = PostgresArray(of: element)
        for number in [1, hasNull ? 1 : 0, element.rawValue, UInt32(count), 1] as [UInt32] {
            header.append(number)
        }
        return header.bytes + bytes
    }

    private mutating func append(length: Int, _ add: (inout PostgresArray) -> Void) {
        append(UInt32(length))
        add(&self)
        count += 1
    }

    private mutating func append<Number: FixedWidthInteger>(_ number: Number) {
        withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
    }
}
