import Platform

/// Translates a fault of libyaml for people who write job files, not parsers.
///
/// libyaml reports two positions: where it gave up, and where the construct began that it was
/// reading. The second one is useful for a construct that is never closed, since the first one is
/// often the end of the file.
///
/// - Parameters:
///   - topKey: the key at the top of the file whose value it was reading.
///   - line: returns a line of the file by its number.
func syntaxFault(
    _ problem: String?, context: String?, at position: YAMLNode.Position,
    contextAt: YAMLNode.Position, topKey: String, line: (Int) -> String
) -> JobFileFault {
    guard let problem else {
        return JobFileFault(line: 0, column: 0, message: "there is no memory left to read it")
    }
    guard
        let wording = wordings.first(where: {
            $0.problem == problem && ($0.context == nil || $0.context == context)
        })
    else {
        return JobFileFault(position, "this is not YAML: \(problem)")
    }
    var fault = JobFileFault(
        wording.isAtContext ? contextAt : position, wording.message, help: wording.help)
    switch problem {
    case "could not find expected ':'":
        guard let colon = unspacedColon(in: line(contextAt.line)) else { break }
        fault.message = "\(shown(colon.key)) has no space after its `:`"
        fault.help = colon.help
    case "mapping values are not allowed in this context":
        let words = line(position.line).prefix(max(position.column - 1, 0)).drop { $0 == " " }
        guard !words.isEmpty, words.allSatisfy({ $0.isLetter || $0 == "_" }) else { break }
        if let colon = unspacedColon(in: line(position.line - 1)) {
            fault.help = "\(colon.help) in line \(position.line - 1)"
        } else {
            fault.help = "keys of one mapping start in the same column"
        }
    case "did not find expected '-' indicator" where !topKey.isEmpty:
        let text = line(position.line).dropFirst(position.column - 1)
        guard text.firstMatch(of: /^[a-z_]+:/) != nil else { break }
        fault.message = "the indentation here fits no mapping"
        fault.help =
            "the keys of one \(topKey == "jobs" ? "job" : "entry") start in the same column"
    default: break
    }
    return fault
}

/// Returns the key of a line in which something else than a space follows its `:`, as in
/// `kind:command`, and what mends it; `nil` for any other line.
private func unspacedColon(in line: String) -> (key: String, help: String)? {
    guard let match = line.firstMatch(of: /^ *(?:- +)*([a-z_]+:)([^ \t\r\/:])/) else { return nil }
    let isNoBreakSpace = match.2 == "\u{A0}"
    return (
        String(match.1),
        "put a space after `:`" + (isNoBreakSpace ? ", in place of the no-break space" : "")
    )
}

private struct Wording: Sendable {
    /// libyaml's text for the problem.
    let problem: String
    /// libyaml's text for what it was reading, if the wording depends on it.
    var context: String?
    /// Whether the fault is at the start of what it was reading.
    var isAtContext = false
    let message: String
    var help: String?
}

/// The texts are from scanner.c and parser.c of libyaml 0.2.5.
private let wordings: [Wording] = [
    Wording(
        problem: "could not find expected ':'", isAtContext: true,
        message: "this key has no `:`"),
    Wording(
        problem: "found character that cannot start any token",
        message: "nothing can start with this character",
        help: "indent with spaces, not tabs, and quote text that starts with `@` or a backtick"),
    Wording(
        problem: "found a tab character where an indentation space is expected",
        message: "a tab cannot indent", help: "use spaces"),
    Wording(
        problem: "found a tab character that violates indentation",
        message: "a tab cannot indent", help: "use spaces"),
    Wording(
        problem: "mapping values are not allowed in this context",
        message: "a `:` cannot stand here",
        help: "start each key on a line of its own and quote text that holds `: `"),
    Wording(
        problem: "block sequence entries are not allowed in this context",
        message: "a list entry (`-`) cannot stand here",
        help: "start the list on a line of its own"),
    Wording(
        problem: "mapping keys are not allowed in this context",
        message: "a key (`?`) cannot stand here"),
    Wording(
        problem: "did not find expected key", message: "the indentation here fits no mapping",
        help: "keys of one mapping start in the same column"),
    Wording(
        problem: "did not find expected '-' indicator",
        message: "the indentation here fits no list",
        help: "entries of one list start in the same column"),
    Wording(
        problem: "did not find expected ',' or ']'", isAtContext: true,
        message: "the list that starts here lacks a `,` or its `]`"),
    Wording(
        problem: "did not find expected ',' or '}'", isAtContext: true,
        message: "the mapping that starts here lacks a `,` or its `}`"),
    Wording(
        problem: "found unexpected end of stream", context: "while scanning a quoted scalar",
        isAtContext: true, message: "the quote that starts here is never closed"),
    Wording(
        problem: "found unexpected document indicator", context: "while scanning a quoted scalar",
        isAtContext: true, message: "the quote that starts here is never closed"),
    Wording(
        problem: "found unknown escape character",
        message: "this escape is unknown",
        help: "write `\\\\` for a backslash, or use single quotes"),
    Wording(
        problem: "did not find expected hexdecimal number",
        message: "this escape lacks its hexadecimal digits"),
    Wording(
        problem: "found invalid Unicode character escape code",
        message: "this escape names no character"),
    Wording(problem: "did not find expected node content", message: "a value is missing here"),
    Wording(
        problem: "did not find expected <document start>",
        message: "the document is over before this text"),
    Wording(
        problem: "did not find expected comment or line break",
        message: "the text of `|` or `>` starts on the next line"),
    Wording(
        problem: "did not find expected alphabetic or numeric character",
        message: "anchors (`&`) and aliases (`*`) are not allowed in a job file",
        help: "quote text that starts with `&` or `*`"),
    Wording(
        problem: "found undefined tag handle", isAtContext: true,
        message: "tags (`!`) are not allowed in a job file"),
]

/// Checks that a file contains only characters that a job file may have, and returns the position
/// after the last one.
///
/// This happens before libyaml sees the bytes, so that the position is always known. The check is
/// stricter than YAML: it also refuses the line separators of Unicode, which editors do not count
/// as lines, so that every later line number is the one that an editor shows.
///
/// - Throws: a fault at the first invalid byte or character.
func checkCharacters(_ bytes: [UInt8]) throws(JobFileFault) -> YAMLNode.Position {
    var position = YAMLNode.Position(line: 1, column: 1)
    // Most files are ASCII to the end, and need no decoding.
    var ascii = 0
    for byte in bytes {
        guard (0x20...0x7E).contains(byte) || byte == 0x0A else { break }
        ascii += 1
        if byte == 0x0A {
            position = YAMLNode.Position(line: position.line + 1, column: 1)
        } else {
            position.column += 1
        }
    }
    var iterator = bytes[ascii...].makeIterator()
    var decoder = UTF8()
    var previous: Unicode.Scalar?
    while true {
        switch decoder.decode(&iterator) {
        case .emptyInput:
            return position
        case .error:
            throw JobFileFault(
                position, "the file is not UTF-8 from here on", help: "save it as UTF-8")
        case .scalarValue(let scalar):
            switch scalar {
            case "\n" where previous == "\r":
                break
            case "\n", "\r":
                position = YAMLNode.Position(line: position.line + 1, column: 1)
            case "\u{FEFF}" where previous == nil && ascii == 0:
                // A byte order mark is not a character of the text.
                break
            default:
                guard isAllowed(scalar) else {
                    throw JobFileFault(
                        position, "character \(codePoint(scalar)) is not allowed in a job file")
                }
                position.column += 1
            }
            previous = scalar
        }
    }
}

private func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x09, 0x20...0x7E: true
    case 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF: false
    default: scalar.value >= 0xA0
    }
}
