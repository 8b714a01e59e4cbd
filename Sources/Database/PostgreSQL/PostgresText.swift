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

/// Turns the statements that create a schema in SQLite into those that create it in PostgreSQL.
///
/// Where rows have owners, each table gets a column for the owner, first in every key and index,
/// which the session's setting fills and which row-level security compares with it
/// (`ServerConnection.Owner.setting`). The types follow one map. Triggers have a language of their
/// own in PostgreSQL; they are left out.
public struct PostgresSchema: Sendable {
    /// The column that has the owner, a text; `nil` where rows have none.
    let ownerColumn: String?
    /// What must hold besides for a row to be seen or written; an SQL expression.
    let condition: String?
    /// What each key and index begins with.
    private let first: String

    public init(ownerColumn: String? = nil, condition: String? = nil) {
        (self.ownerColumn, self.condition) = (ownerColumn, condition)
        first = ownerColumn.map { "\($0), " } ?? ""
    }

    /// Returns the statements for a script that creates tables, indices, views and triggers.
    public func translated(_ script: String) -> String {
        SQLStatement.statements(of: script).compactMap { statement in
            switch statement.words.prefix(2).map({ $0.uppercased() }) {
            case ["CREATE", "TABLE"]: table(statement)
            case ["CREATE", "INDEX"], ["CREATE", "UNIQUE"]: index(statement)
            // With the rights of whoever asks. Otherwise the server would apply the policies to
            // the view's owner, who may be exempt from them.
            case ["CREATE", "VIEW"]:
                "\(statement.text.replacingFirst(" AS", " WITH (security_invoker) AS"));"
            case ["CREATE", "TRIGGER"]: nil
            default: preconditionFailure("no map for `\(statement.text)`")
            }
        }.joined(separator: "\n")
    }

    /// An SQL expression: the owner that the session has set; NULL without one.
    public static func owner(in column: String) -> String {
        "(nullif(current_setting('clarity.\(column)', true), '')::text)"
    }

    // MARK: Tables

    private func table(_ statement: SQLStatement) -> String {
        let name = statement.words[2]
        let parts = statement.list.map { part(SQLPart($0)) }
        let items = parts.map(\.item) + parts.flatMap(\.constraints)
        func create(_ items: [String]) -> String {
            """
            CREATE TABLE \(name) (
                \(items.joined(separator: ",\n    "))
            );
            """
        }
        guard let ownerColumn else { return create(items) }
        let owner = PostgresSchema.owner(in: ownerColumn)
        return """
            \(create(["\(ownerColumn) text NOT NULL DEFAULT \(owner)"] + items))
            ALTER TABLE \(name) ENABLE ROW LEVEL SECURITY;
            ALTER TABLE \(name) FORCE ROW LEVEL SECURITY;
            CREATE POLICY \(name)_owner ON \(name)
                USING (\(ownerColumn) = \(owner)\(condition.map { " AND \($0)" } ?? ""));
            """
    }

    /// Returns a column or a constraint, and the table's constraints that a column's own become:
    /// a key begins with the owner, and a column alone is none.
    private func part(_ part: SQLPart) -> (item: String, constraints: [String]) {
        let name = part.words[0]
        switch name.uppercased() {
        case "CONSTRAINT", "CHECK": return (part.text, [])
        case "PRIMARY", "UNIQUE": return (part.text.replacingFirst("(", "(\(first)"), [])
        case "FOREIGN":
            let references = part.text.split(separator: "REFERENCES", maxSplits: 1)
            return (
                references.map { String($0).replacingFirst("(", "(\(first)") }
                    .joined(separator: "REFERENCES"), []
            )
        default: break
        }
        var text = part.withTypes
        var constraints: [String] = []
        if text.removeFirst(" PRIMARY KEY AUTOINCREMENT") || text.removeFirst(" PRIMARY KEY") {
            constraints.append("PRIMARY KEY (\(first)\(name))")
            // SQLite gives a key of integers to a row without one.
            text =
                text.hasPrefix("\(name) bigint")
                ? text.replacingFirst("bigint", "bigint GENERATED BY DEFAULT AS IDENTITY")
                : text.contains("NOT NULL") ? text : "\(text) NOT NULL"
        }
        if text.removeFirst(" UNIQUE") { constraints.append("UNIQUE (\(first)\(name))") }
        if let reference = text.firstRange(of: " REFERENCES ") {
            let target = String(text[reference.lowerBound...])
            text = String(text[..<reference.lowerBound])
            let action = target.hasSuffix("SET NULL") ? " (\(name))" : ""
            constraints.append(
                "FOREIGN KEY (\(first)\(name))" + target.replacingFirst("(", "(\(first)") + action)
        }
        return (text, constraints)
    }

    // MARK: Indices

    private func index(_ statement: SQLStatement) -> String {
        let terms = statement.list.map { SQLPart($0) }.map { part in
            let (term, words) = (part.text, part.words.map { $0.uppercased() })
            let isColumn = term.allSatisfy { $0.isLetter || $0.isNumber || "_ ".contains($0) }
            return isColumn && (words.count == 1 || words.last == "DESC") ? term : "(\(term))"
        }
        let columns = terms.joined(separator: ", ")
        return "\(SQLPart(statement.head).text) (\(first)\(columns))\(statement.tail);"
    }
}

/// A statement of a script: what is before, between and after its first parentheses.
private struct SQLStatement {
    var text: String
    /// What is before the first parenthesis.
    var head = ""
    /// The parts between the parentheses, which commas separate.
    var list: [String] = []
    /// What is after the closing parenthesis.
    var tail = ""

    var words: [String] { SQLPart(head).words }

    /// Returns the statements of a script, without its comments.
    static func statements(of script: String) -> [SQLStatement] {
        var statements: [SQLStatement] = []
        var current = SQLStatement(text: "")
        var (depth, blocks) = (0, 0)
        var tokens = SQLTokens(script)
        while let token = tokens.next() {
            guard token.kind != .comment else { continue }
            let text = token.text
            if token.isWord("BEGIN") || token.isWord("CASE") { blocks += 1 }
            if token.isWord("END") { blocks -= 1 }
            if text == ";", blocks == 0 {
                statements.append(current)
                current = SQLStatement(text: "")
                continue
            }
            current.text += text
            current.take(text, &depth)
        }
        return statements.filter { !$0.words.isEmpty }
    }

    private mutating func take(_ text: String, _ depth: inout Int) {
        if text == "(" { depth += 1 }
        if text == ")" { depth -= 1 }
        switch depth {
        case 0 where list.isEmpty: head += text
        case 0:
            if text != ")" || !tail.isEmpty { tail += text }
        case 1 where text == "(" && list.isEmpty: list = [""]
        case 1 where text == "," && tail.isEmpty: list.append("")
        default:
            if tail.isEmpty { list[list.count - 1] += text } else { tail += text }
        }
    }
}

/// A part of a statement.
private struct SQLPart {
    /// The text with single spaces.
    let text: String

    init(_ text: String) {
        var squeezed = ""
        var tokens = SQLTokens(text)
        while let token = tokens.next() {
            if token.kind != .space {
                squeezed += token.text
            } else if !squeezed.isEmpty, squeezed.last != " " {
                squeezed += " "
            }
        }
        if squeezed.last == " " { squeezed.removeLast() }
        self.text = squeezed
    }

    var words: [String] {
        var words: [String] = []
        var tokens = SQLTokens(text)
        while let token = tokens.next() { if token.kind == .word { words.append(token.text) } }
        return words
    }

    /// The text of a column with PostgreSQL's types. Text is compared byte by byte, as SQLite does.
    var withTypes: String {
        var tokens = SQLTokens(text)
        // The name of the column may be that of a type.
        var output = tokens.next()?.text ?? ""
        while let token = tokens.next() {
            switch token {
            case _ where token.isWord("INTEGER"): output += "bigint"
            case _ where token.isWord("TEXT"): output += "text COLLATE \"C\""
            case _ where token.isWord("BLOB"): output += "bytea"
            case _ where token.isWord("REAL"): output += "double precision"
            default: output += token.text
            }
        }
        return output
    }
}

extension String {
    fileprivate func replacingFirst(_ old: String, _ new: String) -> String {
        replacing(old, with: new, maxReplacements: 1)
    }

    /// Removes a text once, if it is there; returns whether it was.
    fileprivate mutating func removeFirst(_ text: String) -> Bool {
        guard let range = firstRange(of: text) else { return false }
        removeSubrange(range)
        return true
    }
}

extension PostgresSchema {
    /// Functions of SQLite that the statements use, as PostgreSQL can make them
    /// (<https://www.sqlite.org/lang_corefunc.html>, <https://www.sqlite.org/lang_aggfunc.html>).
    public static let functions = """
        CREATE FUNCTION max(a bigint, b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT
            AS 'SELECT greatest(a, b)';
        CREATE FUNCTION min(a bigint, b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT
            AS 'SELECT least(a, b)';
        CREATE FUNCTION iif(condition boolean, one anyelement, other anyelement)
            RETURNS anyelement LANGUAGE sql IMMUTABLE
            AS 'SELECT CASE WHEN condition THEN one ELSE other END';
        CREATE FUNCTION iif(condition boolean, one text, other text)
            RETURNS text LANGUAGE sql IMMUTABLE
            AS 'SELECT CASE WHEN condition THEN one ELSE other END';
        CREATE FUNCTION instr(text, text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT
            AS 'SELECT strpos($1, $2)::bigint';
        CREATE FUNCTION hex(bytea) RETURNS text LANGUAGE sql IMMUTABLE STRICT
            AS 'SELECT upper(encode($1, ''hex''))';
        CREATE FUNCTION json_each(text) RETURNS TABLE (value bigint) LANGUAGE sql IMMUTABLE STRICT
            AS 'SELECT element::bigint FROM json_array_elements_text($1::json) AS element';
        CREATE FUNCTION json_quote(text) RETURNS text LANGUAGE sql IMMUTABLE STRICT
            AS 'SELECT to_json($1)::text';
        CREATE FUNCTION json_list_with(list text, element text) RETURNS text
            LANGUAGE sql IMMUTABLE
            AS 'SELECT left(list, -1) || CASE list WHEN ''[]'' THEN '''' ELSE '','' END
                || json_quote(element) || '']''';
        CREATE AGGREGATE json_group_array(text)
            (SFUNC = json_list_with, STYPE = text, INITCOND = '[]');

        CREATE FUNCTION sum_of_truths(total bigint, truth boolean) RETURNS bigint
            LANGUAGE sql IMMUTABLE
            AS 'SELECT CASE WHEN truth IS NULL THEN total ELSE coalesce(total, 0) + truth::int END';
        CREATE AGGREGATE sum(boolean) (SFUNC = sum_of_truths, STYPE = bigint);

        CREATE FUNCTION concatenated(list text, element anyelement, separator text) RETURNS text
            LANGUAGE sql IMMUTABLE
            AS 'SELECT CASE WHEN element IS NULL THEN list
                ELSE coalesce(list || separator, '''') || element END';
        CREATE AGGREGATE group_concat(anyelement, text) (SFUNC = concatenated, STYPE = text);
        """
}
