import Reports
import Testing

@testable import clarity_jobs

@Suite("The reference of docs/json.md")
struct ResultReferenceTests {
    @Test func `the reference is generated from the declaration`() throws {
        try ReferencePage("json.md").check(ResultReference().text)
    }

    @Test func `every command has a declared result or is known to have none`() {
        let paths = Self.paths(of: .program, [])
        let declared = ResultSchema.commands.map(\.command) + ResultReference.commandsWithoutResult

        #expect(Set(paths) == Set(declared))
        #expect(Set(declared).count == declared.count)
    }

    private static func paths(of command: CommandSyntax, _ path: [String]) -> [String] {
        [path.joined(separator: " ")]
            + command.commands.flatMap { paths(of: $0, path + [$0.name]) }
    }
}

/// The reference of `docs/json.md`.
struct ResultReference {
    /// The commands that have no result for programs: their output is a text or a stream of its
    /// own, or they only run other commands.
    static let commandsWithoutResult = [
        "", "demo", "init", "uninstall", "loop", "mcp", "exporter", "receive", "receive token",
        "serve",
        "serve password",
        "serve sessions", "serve token",
        "trace", "trace record",
        "notices", "notify", "notify failed", "auth", "key", "store", "store init", "store migrate",
        "accounts", "archive", "completion", "completion words", "manual", "schema",
        "schema job-file",
        "schema results", "schema api", "sandbox", "fhir", "fhir keygen", "fhir jwks",
        "import-jobs",
        "import-jobs crontab",
        "import-jobs systemd",
    ]

    /// The reference in Markdown: a section for each command, then the shared objects.
    var text: String {
        let commands = ResultSchema.commands.map { result in
            let lines =
                if case .list = result.document { "each element" } else { "the same object" }
            let own = ResultReference.isOwn(result)
            var text = "### \(result.command)\n\n"
            text += "`json`: \(ResultReference.words(result.document)). "
            text +=
                own
                ? "`ndjson`: \(ResultReference.words(result.line)).\n"
                : "`ndjson`: \(lines) on a line.\n"
            text += ResultReference.tables(result.document)
            if own { text += "\nA line of `ndjson`:\n" + ResultReference.tables(result.line) }
            return text
        }
        let shared = ResultSchema.shared.map { name, fields in
            "### The object \(name)\n" + ResultReference.tables(.object(fields))
        }
        let none = ResultReference.commandsWithoutResult.filter { !$0.isEmpty }
            .map { "`\($0)`" }.joined(separator: ", ")
        return (commands + shared).joined(separator: "\n")
            + "\n### Commands without a result\n\n\(none)\n"
    }

    /// Returns whether the lines of `ndjson` have a form of their own.
    private static func isOwn(_ result: CommandResult) -> Bool {
        let usual = CommandResult(result.command, result.document)
        return "\(usual.line)" != "\(result.line)"
    }

    /// Returns a table for each object that the type contains and that is not shared.
    private static func tables(_ type: ValueType) -> String {
        switch type {
        case .object(let fields):
            "\n| field | type | meaning |\n|---|---|---|\n"
                + rows(fields, prefix: "").joined()
        case .list(let element): tables(element)
        case .either(let types): types.map(tables).joined()
        default: ""
        }
    }

    /// Returns the rows of fields; those of objects within follow with their paths.
    private static func rows(_ fields: [Field], prefix: String) -> [String] {
        fields.flatMap { field in
            let path = prefix + field.name
            let row =
                "| `\(path)` | \(words(field.type))\(field.isOptional ? ", or none" : "") "
                + "| \(field.summary) |\n"
            return switch field.type {
            case .object(let inner): [row] + rows(inner, prefix: "\(path).")
            case .list(.object(let inner)): [row] + rows(inner, prefix: "\(path)[].")
            default: [row]
            }
        }
    }

    /// Returns words for one of several types; all objects without a name are one word.
    private static func either(_ types: [ValueType]) -> String {
        var parts: [String] = []
        for word in types.map(words) where !parts.contains(word) { parts.append(word) }
        let objects = types.count { if case .object = $0 { true } else { false } }
        return parts.joined(separator: " or ")
            + (objects > 1 ? " in one of the \(objects) forms below" : "")
    }

    private static func words(_ type: ValueType) -> String {
        switch type {
        case .text: "text"
        case .integer: "integer"
        case .number: "number"
        case .boolean: "boolean"
        case .instant: "time"
        case .day: "day"
        case .any: "any value"
        case .map(let value): "object of \(words(value)) by name"
        case .list(let element): "list of \(words(element))"
        case .object: "object"
        case .shared(let name): "[\(name)](#the-object-\(name))"
        case .either(let types): either(types)
        }
    }
}
