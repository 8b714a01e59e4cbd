import ClarityScheduler
import Platform

/// Why the text of a scalar is not a value, in words that follow the key and the text.
struct TextFault: Error {
    var reason: String
    var help: String?

    init(_ reason: String, help: String? = nil) {
        self.reason = reason
        self.help = help
    }
}

extension ValueSchema {
    /// Returns a schema for scalars that depend on their text alone.
    static func text(
        _ description: @autoclosure @escaping @Sendable () -> ValueDescription,
        read: @escaping @Sendable (String) throws(TextFault) -> Value
    ) -> ValueSchema {
        .scalar(description()) { text, node, path, decoding in
            do throws(TextFault) {
                return try read(text)
            } catch {
                return decoding.fault(
                    node.position, "\(path.key) \(shown(text)) \(error.reason)", help: error.help)
            }
        }
    }
}

extension ValueSchema where Value == String {
    /// Reads any scalar as written.
    static var text: ValueSchema { .scalar(.text) { text, _, _, _ in text } }

    /// Reads a single line without control characters that is not empty.
    static var line: ValueSchema {
        .scalar(.text) { text, node, path, decoding in
            let leaves = text.unicodeScalars.contains { scalar in
                switch scalar.properties.generalCategory {
                case .control, .lineSeparator, .paragraphSeparator: true
                default: false
                }
            }
            guard !text.isEmpty, !leaves else {
                return decoding.fault(
                    node.position,
                    "\(path.text) is empty or has a line break or another control character, "
                        + "wanted one line")
            }
            return text
        }
    }

    /// Reads the name of an environment variable.
    static var variableName: ValueSchema {
        .text(.text) { text throws(TextFault) in
            guard isVariableName(text.utf8[...]) else {
                throw TextFault(
                    "is not the name of a variable",
                    help: "a name is 1 to 100 letters, digits and `_`, with no digit first")
            }
            return text
        }
    }

    /// Reads a date, or an instant in the format of RFC 3339; the value is the text.
    static var dateOrInstant: ValueSchema {
        .text(.dateOrInstant) { text throws(TextFault) in
            // A text is a date if its midnight in UTC is an instant.
            for rest in ["", "T00:00:00Z"] where Instant(rfc3339: text + rest) != nil {
                return text
            }
            throw TextFault(
                "is neither a date nor an instant",
                help: "write it as `2026-01-31` or `2026-01-31T06:00:00Z`")
        }
    }
}

extension ValueSchema where Value == Bool {
    /// Reads `true` or `false` without quotes.
    static var boolean: ValueSchema {
        .scalar(.boolean) { text, node, path, decoding in
            switch node.content {
            case .scalar("true", isPlain: true): return true
            case .scalar("false", isPlain: true): return false
            default:
                return decoding.fault(
                    node.position, "\(path.key) \(shown(text)) is not a boolean",
                    help: "write `true` or `false`, without quotes; YAML 1.2 has no others")
            }
        }
    }
}

extension ValueSchema where Value == Double {
    /// Reads an unquoted number in digits, with or without a fraction.
    static func number(_ range: ClosedRange<Double>) -> ValueSchema {
        .scalar(.number(range)) { text, node, path, decoding in
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(
                String.init)
            guard case .scalar(_, isPlain: true) = node.content, parts.count <= 2,
                parts.allSatisfy({ isWholeNumber($0) }),
                parts.last?.hasPrefix("-") == (parts.count == 1 && text.hasPrefix("-"))
            else {
                return decoding.fault(
                    node.position, "\(path.key) \(shown(text)) is not a number",
                    help: "write it in digits, such as `2` or `0.5`, without quotes")
            }
            return ValueSchema.text(.number(range)) { text throws(TextFault) in
                try checked(Double(text), in: range, show: numberText)
            }.decode(node, path, &decoding)
        }
    }
}

extension ValueSchema where Value == Int {
    /// Reads a whole number without quotes.
    static func integer(_ range: ClosedRange<Int>) -> ValueSchema {
        .scalar(.integer(range)) { text, node, path, decoding in
            guard case .scalar(_, isPlain: true) = node.content, isWholeNumber(text) else {
                return decoding.fault(
                    node.position, "\(path.key) \(shown(text)) is not a whole number",
                    help: "write it in digits, without quotes")
            }
            return ValueSchema.text(.integer(range)) { text throws(TextFault) in
                try checked(Int(text), in: range) { "\($0)" }
            }.decode(node, path, &decoding)
        }
    }

    /// Reads a percentage with its sign, such as `20%`.
    static func percent(_ range: ClosedRange<Int>) -> ValueSchema {
        .text(.percent(range)) { text throws(TextFault) in
            let digits = text.hasSuffix("%") ? String(text.dropLast()) : text
            guard isWholeNumber(digits) else {
                throw TextFault("is not a percentage", help: "write it as `20%`")
            }
            guard text.hasSuffix("%") else { throw TextFault(lackingUnit: text, of: ["%"]) }
            return try checked(Int(digits), in: range) { "\($0)%" }
        }
    }
}

extension ValueSchema where Value == Duration {
    /// Reads a duration with its unit, such as `90s` or `1h30m`.
    static func duration(_ range: ClosedRange<Duration>) -> ValueSchema {
        .text(.duration(range)) { text throws(TextFault) in
            guard !isWholeNumber(text) else {
                throw TextFault(lackingUnit: text, of: ["s", "m", "h"])
            }
            guard let span = Duration(text: text) else {
                throw TextFault(
                    "is not a span of time",
                    help: spanInWords(text).map { "write it as `\($0)`" }
                        ?? "write it as `30s`, `15m`, `6h`, `90d` or `1h30m`")
            }
            return try checked(span, in: range, show: spanText)
        }
    }
}

/// Returns how the file writes a span that a person put in words, such as `1h` for `1 hour` and
/// `every hour`; `nil` if the words are others.
func spanInWords(_ text: String) -> String? {
    var words = text.lowercased().split(separator: " ")
    if words.first == "every" { words.removeFirst() }
    let joined = words.joined()
    if joined != text, Duration(text: joined) != nil { return joined }
    if words.count == 1 { words.insert("1", at: 0) }
    guard words.count == 2, isWholeNumber(String(words[0])), words[0].count < 6 else { return nil }
    for unit in ["second", "minute", "hour", "day", "week"] {
        let short = unit.prefix(3)
        if [unit, unit + "s", String(short), short + "s"].contains(String(words[1])) {
            return "\(words[0])\(unit.prefix(1))"
        }
    }
    return nil
}

extension ValueSchema where Value == Int64 {
    /// Reads a size in bytes with its unit, such as `500MiB`; only whole numbers of binary units.
    static func size(_ range: ClosedRange<Int64>) -> ValueSchema {
        .text(.size(range)) { text throws(TextFault) in
            guard !isWholeNumber(text) else {
                throw TextFault(lackingUnit: text, of: ["MiB", "GiB"])
            }
            guard let unit = sizeUnits.first(where: { text.hasSuffix($0.name) }),
                isWholeNumber(String(text.dropLast(unit.name.count)))
            else {
                throw TextFault(
                    "is not a size", help: "write it as `64KiB`, `500MiB`, `2GiB` or `1TiB`")
            }
            let size = Int64(text.dropLast(unit.name.count)).flatMap { count in
                let (product, overflow) = count.multipliedReportingOverflow(by: unit.bytes)
                return overflow ? nil : product
            }
            return try checked(size, in: range, show: sizeText)
        }
    }
}

extension ValueSchema where Value == Instant {
    /// Reads an instant in the format of RFC 3339.
    static var instant: ValueSchema {
        .text(.instant) { text throws(TextFault) in
            if let instant = Instant(rfc3339: text) { return instant }
            throw TextFault(
                "is not an instant",
                help: "write it as `2026-11-20T06:00:00Z` or `2026-11-20T07:00:00+01:00`")
        }
    }
}

extension ValueSchema where Value == Rate {
    /// Reads a number of times in a span, such as `1 per 6h`.
    static var rate: ValueSchema {
        .text(.rate) { text throws(TextFault) in
            if let rate = Rate(text: text) { return rate }
            throw TextFault("is not a rate", help: "write it as `1 per 6h`")
        }
    }
}

extension ValueSchema where Value == JobID {
    /// Reads a job's id.
    static var jobID: ValueSchema {
        .name(
            .jobID, "job id",
            rule: "an id is 1 to 100 letters, digits, `.`, `-` or `_` and starts with a letter or "
                + "digit"
        ) { JobID(declared: $0) }
    }
}

extension ValueSchema {
    /// Reads a name for which there is a rule; `make` returns `nil` for one that breaks it.
    static func name(
        _ description: ValueDescription, _ noun: String, rule: String,
        make: @escaping @Sendable (String) -> Value?
    ) -> ValueSchema {
        .scalar(description) { text, node, _, decoding in
            make(text)
                ?? decoding.fault(
                    node.position, "\(noun) \(shown(text)) is not allowed", help: rule)
        }
    }
}

extension ValueSchema {
    /// Reads one of the names of `choices`; messages call it `noun`, or else by its key.
    static func choice(
        _ choices: [(name: String, value: Value)], noun: String? = nil
    ) -> ValueSchema {
        let names = choices.map(\.name)
        return .scalar(.choice(names)) { text, node, path, decoding in
            if let choice = choices.first(where: { $0.name == text }) { return choice.value }
            decoding.reportUnknown(
                noun ?? path.key, text, at: node.position, known: names,
                help: names.isEmpty ? "there is none" : "write \(listed(names, "or"))")
            return nil
        }
    }

    /// Reads a case of an enumeration, by its raw value.
    static func choice(of type: Value.Type, noun: String? = nil) -> ValueSchema
    where Value: CaseIterable & RawRepresentable<String> {
        .choice(type.allCases.map { ($0.rawValue, $0) }, noun: noun)
    }
}

/// Returns the value if it is in its range; `nil` stands for a number that is too large to
/// represent.
private func checked<Value: Comparable>(
    _ value: Value?, in range: ClosedRange<Value>, show: (Value) -> String
) throws(TextFault) -> Value {
    if let value, range.contains(value) { return value }
    throw TextFault(
        "is out of range, wanted \(show(range.lowerBound)) to \(show(range.upperBound))")
}

extension TextFault {
    fileprivate init(lackingUnit number: String, of units: [String]) {
        self.init("has no unit; write \(listed(units.map { number + $0 }, "or"))")
    }
}

/// Whether a text consists of digits only, with an optional minus sign.
private func isWholeNumber(_ text: String) -> Bool {
    let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
    return !digits.isEmpty && digits.allSatisfy { (0x30...0x39).contains($0) }
}

/// Returns a number without a fraction that is zero: `1000`, `0.5`.
package func numberText(_ number: Double) -> String {
    let text = "\(number)"
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
}

/// Returns a duration in the format of the job file: `1h30m`.
package func spanText(_ span: Duration) -> String { span.text.replacing(" ", with: "") }

private let sizeUnits: [(name: String, bytes: Int64)] = [
    ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
]

/// Returns the size in the largest unit that represents it exactly.
package func sizeText(_ bytes: Int64) -> String {
    guard bytes > 0, let unit = sizeUnits.last(where: { bytes % $0.bytes == 0 }) else {
        return "\(bytes)"
    }
    return "\(bytes / unit.bytes)\(unit.name)"
}

extension ValueSchema where Value == String {
    /// Reads a list of `NAME=VALUE` with unique names, or a mapping of names to values; the value joins
    /// the entries with U+0000.
    static var variables: ValueSchema {
        let entries = ValueSchema<[Field<String>]>.list(of: .variable)
        return ValueSchema(entries.description) { node, path, decoding in
            guard let fields = entries.decode(node.asVariables, path, &decoding) else { return nil }
            var seen: Set<Substring> = []
            for field in fields {
                guard let name = field.value?.prefix(while: { $0 != "=" }) else { continue }
                if !seen.insert(name).inserted {
                    decoding.report(
                        field.position, "\(path.text) has \(shown(String(name))) twice")
                }
            }
            return fields.compactMap(\.value).joined(separator: "\u{0}")
        }
    }

    /// Reads one `NAME=VALUE`.
    private static var variable: ValueSchema {
        .scalar(.text) { text, node, path, decoding in
            let name = text.utf8.prefix { $0 != UInt8(ascii: "=") }
            // Do not show the text after the name: it may be a secret that does not belong there.
            guard isVariableName(name), name.count < text.utf8.count else {
                return decoding.fault(
                    node.position, "\(path.text) is not a variable",
                    help: "write it as `LANG=C`, the name in letters, digits and `_`")
            }
            guard !text.hasPrefix("CLARITY_") else {
                return decoding.fault(
                    node.position, "\(path.text) begins with `CLARITY_`",
                    help: "those variables are this program's own")
            }
            return text
        }
    }
}

extension YAMLNode {
    /// A mapping of names to texts as the list `NAME=VALUE` that stands for it; any other node as it is.
    fileprivate var asVariables: YAMLNode {
        guard case .mapping(let entries) = content else { return self }
        var list = self
        list.content = .sequence(
            entries.map { entry in
                guard let value = entry.value.text else { return entry.value }
                return YAMLNode(
                    position: entry.keyPosition,
                    content: .scalar("\(entry.key)=\(value)", isPlain: false))
            })
        return list
    }
}

/// Whether a text is one word to a shell and in a list of YAML: a path or a name.
private func isPlainWord(_ text: String) -> Bool {
    !text.isEmpty
        && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "/._-~+@".contains($0)) }
        && text.first?.isLetter ?? false || "/.~".contains(text.first ?? " ")
}

extension ValueSchema where Value == [String] {
    /// Reads a program with its arguments; a relative program path becomes absolute.
    static var command: ValueSchema {
        let words = ValueSchema<[Field<String>]>.list(of: .text, repeats: true)
        return ValueSchema(words.description) { node, path, decoding in
            guard case .sequence(let nodes) = node.content else {
                let word = node.text.flatMap { isPlainWord($0) ? "write it as `[\($0)]`" : nil }
                return decoding.reportMismatch(
                    node, path, words.description,
                    help: word
                        ?? "write each word as an entry: `[sh, -c, \"...\"]` for a shell's line")
            }
            guard (1...100).contains(nodes.count) else {
                return decoding.fault(
                    node.position,
                    nodes.isEmpty
                        ? "\(path.text) names no program"
                        : "\(path.text) has \(nodes.count) words, wanted at most 100")
            }
            guard let fields = words.decode(node, path, &decoding) else { return nil }
            var command = fields.compactMap(\.value)
            guard command.count == nodes.count else { return nil }
            guard let program = decoding.program(nodes[0], command[0], path) else { return nil }
            command[0] = program
            // No shell expands it, and a program that gets `~` as it is looks for a folder of that name.
            for index in command.indices.dropFirst() where command[index].hasPrefix("~/") {
                command[index] = "\(decoding.context.home)/\(command[index].dropFirst(2))"
            }
            return command
        }
    }
}

extension Decoding {
    /// Returns the path of a command's first word, or its name.
    fileprivate mutating func program(
        _ node: YAMLNode, _ text: String, _ path: CodingPath
    ) -> String? {
        if text.hasPrefix("$") {
            let home = ["$HOME/", "${HOME}/"].first(where: text.hasPrefix)
            let written = home.map { "~/" + text.dropFirst($0.count) }
            return fault(
                node.position, "the program \(shown(text)) of \(path.text) begins with `$`",
                help: "variables are not replaced; write "
                    + (written.map { shown($0) } ?? "the program's absolute path"))
        }
        let isPath = ["/", "./", "../", "~/"].contains(where: text.hasPrefix)
        // A whole command line where one word belongs is not a path below the job file's folder.
        guard isPath || !text.contains(where: \.isWhitespace) else {
            return fault(
                node.position, "the program \(shown(text)) of \(path.text) holds a blank",
                help: "write each word as an entry: `[sh, -c, \"...\"]` for a shell's line")
        }
        guard text.contains("/") || text.isEmpty else {
            guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
            else {
                return fault(node.position, "\(path.key) \(shown(text)) is not a program's name")
            }
            return text
        }
        return ValueSchema<String>.path.decode(node, path, &self)
    }
}

/// Whether an environment variable can have this name: 1 to 100 letters, digits and `_` of ASCII, no
/// digit first.
func isVariableName(_ name: Substring.UTF8View) -> Bool {
    guard (1...100).contains(name.count), let first = name.first, !(0x30...0x39).contains(first)
    else { return false }
    return name.areLettersDigits(or: "_")
}
