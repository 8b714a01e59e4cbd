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
