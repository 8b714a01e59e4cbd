import Platform

/// The syntax of a command as data; parsing, help and suggestions are derived from it.
struct CommandSyntax: Sendable {
    var name: String
    var summary: String
    /// The text below the summary on the command's own help page, line by line.
    var details: [String] = []
    /// The operands as help shows them, such as `[JOB...]`; `nil` if there are none.
    var operands: String?
    var options: [OptionSyntax] = []
    /// Useful command lines, shown first in help.
    var examples: [String] = []
    var commands: [CommandSyntax] = []
    /// Whether it also does something without one of its commands.
    var runsAlone = false

    /// Whether everything after the command's name belongs to another program.
    var passesArgumentsOn = false
}

/// The syntax of an option.
struct OptionSyntax: Sendable {
    var name: String
    var letter: Character?
    /// The value's name in help; `nil` for an option without a value.
    var value: String?
    var choices: [String] = []
    var summary: String

    init(
        _ name: String, _ letter: Character? = nil, value: String? = nil, choices: [String] = [],
        summary: String
    ) {
        self.name = name
        self.letter = letter
        self.value = value
        self.choices = choices
        self.summary = summary
    }

    /// The option with its letter and the name of its value: `-n, --limit N`.
    var synopsis: String {
        (letter.map { "-\($0), " } ?? "") + "--\(name)" + (value.map { " \($0)" } ?? "")
    }

    /// The environment variable that can replace the option, such as `CLARITY_JOBS_CONFIG`.
    var variable: String {
        "CLARITY_JOBS_" + name.uppercased().replacing("-", with: "_")
    }
}

/// A parsed command line.
struct Arguments {
    /// The names of the command and its subcommand.
    var path: [String] = []
    /// The words as they were typed, without the program's name.
    var words: [String] = []
    /// The options that a variable set, because the command line did not.
    var fromEnvironment: Set<String> = []
    /// The value of each option; if it was given several times, the last one.
    var values: [String: String] = [:]
    /// All values of each option, in the order given.
    var given: [String: [String]] = [:]
    var flags: Set<String> = []
    var operands: [String] = []

    func has(_ flag: String) -> Bool { flags.contains(flag) }

    subscript(option: String) -> String? { values[option] }

    /// Returns all values of an option that may be given several times.
    func all(_ option: String) -> [String] { given[option] ?? [] }
}

/// A command line that breaks the syntax; the message is one line for the user.
struct UsageFault: Error, Equatable {
    var message: String
    /// The names of the command and its subcommand, whose help says more.
    var path: [String] = []
}

/// Parses command lines by the GNU conventions.
///
/// Options may stand before, between and after operands. Accepted forms are `--name=value`,
/// `--name value`, `-abc`, `-c value` and `-cvalue`; `--` ends the options.
struct ArgumentParser {
    let root: CommandSyntax
    let environment: [String: String]

    /// Parses `words`, then takes missing options from the environment.
    ///
    /// The root's options are accepted after every command. `help` before a command is its `--help`.
    func parse(_ words: [String]) throws(UsageFault) -> (CommandSyntax, Arguments) {
        var result = Arguments(words: words)
        do throws(UsageFault) {
            return (try read(words[...], &result), result)
        } catch {
            throw UsageFault(message: error.message, path: result.path)
        }
    }

    /// Reads words into `result`, and returns the command that they name.
    private func read(
        _ words: ArraySlice<String>, _ result: inout Arguments
    ) throws(UsageFault) -> CommandSyntax {
        var command = root
        var scope = root.options
        var rest = words
        var areOptionsOver = false
        while let word = rest.popFirst() {
            if word == "help", result.path.isEmpty, !areOptionsOver {
                rest.append("--help")
            } else if areOptionsOver || word == "-" || !word.hasPrefix("-") {
                if !areOptionsOver, result.operands.isEmpty,
                    let next = command.commands.first(where: { $0.name == word })
                {
                    result.path.append(word)
                    try refuse(command.options, unless: next, result)
                    command = next
                    // A command has its own options and the general ones, of which its own replace
                    // those with the same name; none of the command above it.
                    scope = root.options.filter { general in
                        !next.options.contains { $0.name == general.name }
                    }
                    scope += next.options
                    if next.passesArgumentsOn {
                        result.operands = Array(rest)
                        break
                    }
                } else if command.operands == nil {
                    throw UsageFault(message: surplus(word, of: command))
                } else {
                    result.operands.append(word)
                }
            } else if word == "--" {
                areOptionsOver = true
            } else if word.hasPrefix("--") {
                try parseLong(word.dropFirst(2), scope, &rest, &result)
            } else {
                try parseShort(word.dropFirst(), scope, &rest, &result)
            }
        }
        try addEnvironment(scope, &result)
        return command
    }

    /// Refuses options that were given before `next` and that `next` does not have.
    private func refuse(
        _ options: [OptionSyntax], unless next: CommandSyntax, _ result: Arguments
    ) throws(UsageFault) {
        let known = root.options + next.options
        let stray = options.first { option in
            (result.flags.contains(option.name) || result.values[option.name] != nil)
                && !known.contains { $0.name == option.name }
        }
        guard let stray else { return }
        let path = result.path.joined(separator: " ")
        throw UsageFault(message: "`\(path)` has no option `--\(stray.name)`")
    }

    private func parseLong(
        _ word: Substring, _ scope: [OptionSyntax], _ rest: inout ArraySlice<String>,
        _ result: inout Arguments
    ) throws(UsageFault) {
        let equals = word.firstIndex(of: "=")
        let name = String(word[..<(equals ?? word.endIndex)])
        guard let option = scope.first(where: { $0.name == name }) else {
            let suggestion = didYouMean(name, among: scope.map(\.name), prefix: "--")
            throw UsageFault(message: "unknown option `--\(name)`\(suggestion)")
        }
        let attached = equals.map { String(word[word.index(after: $0)...]) }
        if option.value == nil {
            guard attached == nil else {
                throw UsageFault(message: "option `--\(name)` takes no value")
            }
            result.flags.insert(name)
        } else {
            guard let value = attached ?? rest.popFirst() else {
                throw UsageFault(message: "option `--\(name)` wants a value")
            }
            try set(option, value, shown: "--\(name)", &result)
        }
    }

    private func parseShort(
        _ letters: Substring, _ scope: [OptionSyntax], _ rest: inout ArraySlice<String>,
        _ result: inout Arguments
    ) throws(UsageFault) {
        var letters = letters
        while let letter = letters.popFirst() {
            guard let option = scope.first(where: { $0.letter == letter }) else {
                throw UsageFault(message: "unknown option `-\(letter)`")
            }
            if option.value == nil {
                result.flags.insert(option.name)
                continue
            }
            guard let value = letters.isEmpty ? rest.popFirst() : String(letters) else {
                throw UsageFault(message: "option `-\(letter)` wants a value")
            }
            try set(option, value, shown: "-\(letter)", &result)
            return
        }
    }

    private func addEnvironment(
        _ scope: [OptionSyntax], _ result: inout Arguments
    ) throws(UsageFault) {
        for option in scope where result[option.name] == nil {
            guard let value = environment[option.variable], !value.isEmpty else { continue }
            result.fromEnvironment.insert(option.name)
            if option.value != nil {
                try set(option, value, shown: option.variable, &result)
            } else if ["1", "true"].contains(value) {
                result.flags.insert(option.name)
            }
        }
    }

    private func set(
        _ option: OptionSyntax, _ value: String, shown: String, _ result: inout Arguments
    ) throws(UsageFault) {
        guard option.choices.isEmpty || option.choices.contains(value) else {
            let choices = option.choices.map { "`\($0)`" }.joined(separator: ", ")
            throw UsageFault(message: "`\(shown)` is one of \(choices), got `\(value)`")
        }
        result.values[option.name] = value
        result.given[option.name, default: []].append(value)
    }

    private func surplus(_ word: String, of command: CommandSyntax) -> String {
        guard !command.commands.isEmpty else {
            return "`\(command.name)` takes no operand, got `\(word)`"
        }
        let suggestion = didYouMean(word, among: command.commands.map(\.name))
        return "unknown command `\(word)`\(suggestion)"
    }
}

extension CommandSyntax {
    /// Returns the help page of this command; `path` is what the user typed to reach it.
    func help(path: [String], common: [OptionSyntax]) -> String {
        var usage = path.joined(separator: " ")
        if !commands.isEmpty { usage += runsAlone ? " [COMMAND]" : " COMMAND" }
        if let operands { usage += " \(operands)" }
        let introduction = Help.paragraph([summary]) + Help.paragraph(details)
        var page = "\(introduction)\nUsage: \(usage) [OPTION...]\n"
        if !examples.isEmpty {
            page += "\nExamples:\n" + examples.map { "  \($0)\n" }.joined()
        }
        if !commands.isEmpty {
            for group in CommandGroup.of(commands, isRoot: path.count == 1) {
                page += "\n\(group.title):\n" + Help.columns(group.rows)
            }
        }
        if !passesArgumentsOn, !options.isEmpty, path.count > 1 {
            page += "\nOptions:\n" + Help.columns(options.map(Help.line))
        }
        guard !common.isEmpty else { return page }
        page += "\nOptions of every command (each also as CLARITY_JOBS_...):\n"
        return page + Help.columns(common.map(Help.line))
    }
}

private enum Help {
    static func line(_ option: OptionSyntax) -> (String, String) {
        let choices =
            option.choices.isEmpty ? "" : " (\(option.choices.joined(separator: ", ")))"
        return ((option.letter == nil ? "    " : "") + option.synopsis, option.summary + choices)
    }

    /// The columns of a terminal that nobody has widened.
    private static let width = 80

    /// Returns rows in two columns; what is too long for a line goes on below, in its column.
    static func columns(_ rows: [(String, String)]) -> String {
        let left = 2 + min(rows.map(\.0.count).max() ?? 0, 30) + 2
        return rows.map { name, summary in
            let gap = String(repeating: " ", count: max(left - name.count - 2, 2))
            let lines = wrapped(summary, Help.width - left)
            return "  \(name)\(gap)"
                + lines.joined(separator: "\n" + String(repeating: " ", count: left)) + "\n"
        }.joined()
    }

    /// Returns lines of prose as a paragraph that fits a terminal.
    static func paragraph(_ lines: [String]) -> String {
        wrapped(lines.joined(separator: " "), Help.width).map { "\($0)\n" }.joined()
    }

    private static func wrapped(_ text: String, _ width: Int) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, last.count + 1 + word.count <= width {
                lines[lines.count - 1] += " \(word)"
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}

/// Commands that belong together, in the order of the help page.
struct CommandGroup {
    let title: String
    private let names: [String]

    private static let all = [
        CommandGroup(
            title: "What happens",
            names: [
                "status", "list", "next", "tonight", "explain", "history", "logs", "notices",
            ]),
        CommandGroup(
            title: "Run jobs",
            names: [
                "run", "loop", "dry-run", "pause", "resume", "cancel", "retry", "backfill",
                "simulate",
            ]),
        CommandGroup(
            title: "Set up",
            names: [
                "demo", "init", "uninstall", "import-jobs", "validate", "doctor", "notify", "auth",
                "accounts",
            ]),
        CommandGroup(
            title: "Health data",
            names: [
                "sources", "import", "summary", "metrics", "records", "nights", "workouts",
                "activity", "diary", "ecgs", "trends", "year", "report", "mcp", "insights",
                "analyses",
                "profile", "outbox", "archive", "export-data",
            ]),
        CommandGroup(
            title: "Servers", names: ["serve", "receive", "exporter", "fhir", "sandbox"]),
        CommandGroup(
            title: "State", names: ["audit", "backup", "restore", "key", "store", "trace"]),
        CommandGroup(title: "Help", names: ["completion", "manual", "schema"]),
    ]

    /// Returns the rows of a help page, group by group; the commands of a command are one group.
    static func of(
        _ commands: [CommandSyntax], isRoot: Bool
    ) -> [(title: String, rows: [(String, String)])] {
        let row = { (command: CommandSyntax) in (command.name, command.summary) }
        guard isRoot else { return [("Commands", commands.map(row))] }
        let grouped = all.map { group in
            (
                group.title,
                group.names.compactMap { name in commands.first { $0.name == name } }.map(row)
            )
        }
        let known = Set(all.flatMap(\.names))
        let others = commands.filter { !known.contains($0.name) }.map(row)
        return grouped + (others.isEmpty ? [] : [("Others", others)])
    }
}
