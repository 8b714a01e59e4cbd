/// Turns the text of a statement, which is the same for every engine, into what PostgreSQL takes.
///
/// - Parameters are numbered: `?` becomes `$1`, as SQLite numbers them
///   (<https://www.sqlite.org/lang_expr.html#varparam>).
/// - A conflict is one within the owner of the rows, so that `ON CONFLICT (id)` becomes
///   `ON CONFLICT (account, id)`.
/// - A blob is written `'\x00'::bytea`, not `x'00'`.
/// - `INDEXED BY` is left out: PostgreSQL's planner takes no advice.
///
/// Texts in quotes and comments stay as they are.
struct PostgresText {
    /// The column that says whose a row is, first in every key; `nil` where tables have none.
    let ownerColumn: String?

    func translated(_ sql: String) -> String {
        var output: [UInt8] = []
        var highest = 0
        var tokens = SQLTokens(sql)
        while let token = tokens.next() {
            switch token.kind {
            case .parameter:
                let number = Int(String(decoding: token.bytes.dropFirst(), as: UTF8.self))
                let place = number ?? highest + 1
                highest = max(highest, place)
                output += "$\(place)".utf8
            case .word where token.isWord("X") && tokens.isAtQuote:
                // x'00'
                let literal = tokens.next()?.bytes.dropFirst() ?? []
                output += "'\\x".utf8 + literal + "::bytea".utf8
            case .word where token.isWord("INDEXED"):
                // INDEXED BY name
                for _ in 0..<2 { tokens.skipWord() }
                while output.last == UInt8(ascii: " ") { output.removeLast() }
            case .word where token.isWord("CONFLICT"):
                output += token.bytes
                guard let ownerColumn, tokens.skipOpening() else { continue }
                output += " (\(ownerColumn), ".utf8
            default: output += token.bytes
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}

/// The pieces of an SQL text, in order; together they are the whole text.
struct SQLTokens {
    struct Token {
        enum Kind { case word, parameter, quoted, comment, space, other }

        var kind: Kind
        var bytes: ArraySlice<UInt8>

        var text: String { String(decoding: bytes, as: UTF8.self) }

        /// Whether this is a keyword, in whatever case.
        func isWord(_ word: String) -> Bool {
            kind == .word && bytes.count == word.utf8.count
                && zip(bytes, word.utf8).allSatisfy { $0 & 0xDF == $1 & 0xDF }
        }
    }

    private let bytes: [UInt8]
    private var place = 0

    init(_ sql: String) { bytes = Array(sql.utf8) }

    mutating func next() -> Token? {
        guard place < bytes.count else { return nil }
        let start = place
        let kind: Token.Kind
        switch bytes[place] {
        case UInt8(ascii: "'"), UInt8(ascii: "\""):
            kind = .quoted
            let quote = bytes[place]
            place += 1
            while place < bytes.count, bytes[place] != quote { place += 1 }
            place = min(place + 1, bytes.count)
        case UInt8(ascii: "-") where place + 1 < bytes.count && bytes[place + 1] == bytes[place]:
            kind = .comment
            while place < bytes.count, bytes[place] != UInt8(ascii: "\n") { place += 1 }
        case UInt8(ascii: "?"):
            kind = .parameter
            place += 1
            while place < bytes.count, SQLTokens.isDigit(bytes[place]) { place += 1 }
        case let byte where SQLTokens.isOfWord(byte):
            kind = .word
            while place < bytes.count, SQLTokens.isOfWord(bytes[place]) { place += 1 }
        case UInt8(ascii: " "), UInt8(ascii: "\n"):
            kind = .space
            place += 1
        default:
            kind = .other
            place += 1
        }
        return Token(kind: kind, bytes: bytes[start..<place])
    }

    /// Whether a text in single quotes is next.
    var isAtQuote: Bool { place < bytes.count && bytes[place] == UInt8(ascii: "'") }

    /// Skips white space and the word after it.
    mutating func skipWord() {
        while let token = next(), token.kind != .word {}
    }

    /// Skips white space and an opening parenthesis; skips nothing if something else follows.
    mutating func skipOpening() -> Bool {
        let before = place
        while let token = next() {
            if token.kind == .space { continue }
            if token.bytes.first == UInt8(ascii: "(") { return true }
            break
        }
        place = before
        return false
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        isDigit(byte) || byte == UInt8(ascii: "_")
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}
