import ClarityScheduler
import ClaritySystem

/// A check of `checks:` as written in the file.
struct CheckDraft: Sendable {
    var command: Field<[String]>?
    var url: Field<String>?
    var timeout: Field<Duration>?
    var validFor: Field<Duration>?

    static let shape = MappingSchema(
        CheckDraft(),
        [
            Key(
                "command", { swap(&$0.command, &$1) }, .command,
                "program and arguments; exit status 0 means yes"),
            Key(
                "url", { swap(&$0.url, &$1) }, .webAddress,
                "URL; a status of 200 to 299 means yes"),
            Key(
                "timeout", { swap(&$0.timeout, &$1) },
                .duration(.milliseconds(100) ... .seconds(300)), standard: "10s",
                "how long an answer may take"),
            Key(
                "valid_for", { swap(&$0.validFor, &$1) },
                .duration(.seconds(1) ... .seconds(86_400)), standard: "60s",
                "how long an answer is valid"),
        ])

    /// Returns the check with this name; `nil` if its question has a fault.
    func declaration(_ name: String) -> CheckDeclaration? {
        let question: CheckDeclaration.Question? =
            command?.value.map { .command($0) } ?? url?.value.map { .url($0) }
        return question.map { question in
            CheckDeclaration(
                name: name, question: question,
                timeout: timeout?.value ?? CheckDeclaration.standardTimeout,
                validFor: validFor?.value ?? Check.standardValidity)
        }
    }
}

extension ValueSchema where Value == [NamedField<String, CheckDraft>] {
    /// Reads the checks by their names.
    static var checks: ValueSchema {
        .entries(named: .checkName, of: .check, place: { name, _ in .check(name) })
    }
}

extension ValueSchema where Value == CheckDraft {
    /// Reads a command or a URL, and the durations that belong to it.
    fileprivate static var check: ValueSchema {
        let mapping = ValueSchema.mapping(CheckDraft.shape)
        return ValueSchema(mapping.description) { node, place, decoding in
            guard let draft = mapping.decode(node, place, &decoding) else { return nil }
            if (draft.command != nil) == (draft.url != nil) {
                decoding.report(
                    node.position,
                    draft.url == nil
                        ? "\(place.text) has none of `command` and `url`"
                        : "\(place.text) has `command` and `url`, wanted one of them")
                return nil
            }
            draft.reportShortValidity(place, &decoding)
            return draft
        }
    }
}

extension CheckDraft {
    /// Reports a `valid_for` that is shorter than the `timeout` of the same check.
    ///
    /// A job that needs two such checks might never have both answers at the same time.
    fileprivate func reportShortValidity(_ place: CodingPath, _ decoding: inout Decoding) {
        let timeout = self.timeout?.value ?? CheckDeclaration.standardTimeout
        guard let field = validFor, let validFor = field.value, validFor < timeout else { return }
        decoding.report(
            field.position,
            "\(place.text) has a valid_for of `\(spanText(validFor))`, less than its timeout of "
                + "`\(spanText(timeout))`", help: "an answer stands as long as one may take to come"
        )
    }
}

extension ValueSchema where Value == String {
    /// Reads a check's name.
    fileprivate static var checkName: ValueSchema {
        .scalar(.checkName) { text, node, _, decoding in
            guard text != CheckDeclaration.probeName else {
                decoding.report(
                    node.position, "check name \(shown(text)) is taken",
                    help: "that is how the `probe` of `conditions` is called")
                return nil
            }
            let isName =
                (1...64).contains(text.utf8.count)
                && text.utf8.allSatisfy { byte in
                    switch byte {
                    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                    default: "-_.".utf8.contains(byte)
                    }
                }
            if isName { return text }
            decoding.report(
                node.position, "check name \(shown(text)) is not allowed",
                help: "a name is 1 to 64 letters, digits, `-`, `_` or `.`")
            return nil
        }
    }
}

extension ValueSchema where Value == [String] {
    /// Reads a program with its arguments; a relative program path becomes absolute.
    static var command: ValueSchema {
        let words = ValueSchema<[Field<String>]>.list(of: .text, repeats: true)
        return ValueSchema(words.description) { node, place, decoding in
            guard case .sequence(let nodes) = node.content else {
                decoding.reportForm(
                    node, place, words.description,
                    help: "write each word as an entry: `[sh, -c, \"...\"]` for a shell's line")
                return nil
            }
            guard (1...100).contains(nodes.count) else {
                decoding.report(
                    node.position,
                    nodes.isEmpty
                        ? "\(place.text) names no program"
                        : "\(place.text) has \(nodes.count) words, wanted at most 100")
                return nil
            }
            guard let fields = words.decode(node, place, &decoding) else { return nil }
            var command = fields.compactMap(\.value)
            guard command.count == nodes.count else { return nil }
            guard let program = decoding.program(nodes[0], command[0], place) else { return nil }
            command[0] = program
            return command
        }
    }
}

extension Decoding {
    /// Returns the path of a command's first word, or its name.
    fileprivate mutating func program(
        _ node: YAMLNode, _ text: String, _ place: CodingPath
    ) -> String? {
        let isPath = ["/", "./", "../", "~/"].contains(where: text.hasPrefix)
        // A whole command line where one word belongs is not a path below the job file's folder.
        guard isPath || !text.contains(where: \.isWhitespace) else {
            report(
                node.position, "the program \(shown(text)) of \(place.text) holds a blank",
                help: "write each word as an entry: `[sh, -c, \"...\"]` for a shell's line")
            return nil
        }
        guard text.contains("/") || text.isEmpty else {
            guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
            else {
                report(node.position, "\(place.key) \(shown(text)) is not a program's name")
                return nil
            }
            return text
        }
        return ValueSchema<String>.path.decode(node, place, &self)
    }
}
