/// Rows that go to the server several at a time: each statement is a journey there and back, and most
/// of what the server does for one is the same for one row and for 256.
final class PostgresInsertion: EngineStatement {
    private static let most = 256

    private let text: InsertionText
    private let engine: PostgresEngine
    private var row: [Value] = []
    private var waiting: [[Value]] = []

    init(_ sql: String, _ engine: PostgresEngine) {
        (text, self.engine) = (InsertionText(sql), engine)
    }

    func bind(_ value: Value, at index: Int32) {
        while row.count < Int(index) { row.append(.null) }
        row[Int(index) - 1] = value
    }

    func bind(_ number: Int64, at index: Int32) { bind(.integer(number), at: index) }

    func bind(blob bytes: UnsafeRawBufferPointer, at index: Int32) {
        bind(.blob(Array(bytes)), at: index)
    }

    func bind(text bytes: UnsafeRawBufferPointer, at index: Int32) {
        bind(.text(String(decoding: bytes, as: UTF8.self)), at: index)
    }

    func run() throws(DatabaseError) -> Bool {
        waiting.append(row)
        if waiting.count == PostgresInsertion.most { try finish() }
        return false
    }

    func finish() throws(DatabaseError) {
        var rest = waiting[...]
        waiting = []
        while !rest.isEmpty {
            // A power of two: each number of rows is a statement of its own to prepare.
            var count = PostgresInsertion.most
            while count > rest.count { count /= 2 }
            try engine.forEach(text.inserting(count), Array(rest.prefix(count).joined())) { _ in }
            rest = rest.dropFirst(count)
        }
    }

    func end() { (row, waiting) = ([], []) }
}

/// The text of an `INSERT ... VALUES (...)`, for any number of rows.
struct InsertionText {
    /// What comes before the values of a row, and after them.
    private var head = ""
    private var tail = ""
    /// The values of a row: a text, or the number of a parameter.
    private var row: [Piece] = []
    private var parameters = 0

    private enum Piece {
        case text(String)
        case parameter(Int)
    }

    init(_ sql: String) {
        var tokens = SQLTokens(sql)
        var depth = 0
        var (hasValues, isPastRow) = (false, false)
        while let token = tokens.next() {
            let text = token.text
            if hasValues, !isPastRow, depth > 0 || text == "(" {
                depth += text == "(" ? 1 : text == ")" ? -1 : 0
                if token.kind == .parameter {
                    let number = Int(text.dropFirst()) ?? parameters + 1
                    parameters = max(parameters, number)
                    row.append(.parameter(number))
                } else {
                    row.append(.text(text))
                }
                isPastRow = depth == 0
            } else if isPastRow {
                tail += text
            } else {
                hasValues = hasValues || token.isWord("VALUES")
                head += text
            }
        }
    }

    func inserting(_ count: Int) -> String {
        let rows = (0..<count).map { number in
            row.map { piece in
                switch piece {
                case .text(let text): text
                case .parameter(let place): "?\(number * parameters + place)"
                }
            }.joined()
        }
        return head + rows.joined(separator: ", ") + tail
    }
}
