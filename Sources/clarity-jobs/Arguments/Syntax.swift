/// What a command line may say, as data: parsing, help and suggestions come from it.
struct CommandSyntax: Sendable {
    var name: String
    var summary: String
    /// What its own page of help says below the summary, line by line.
    var details: [String] = []
    /// The operands as help shows them: `[JOB...]`; `nil` when there are none.
    var operands: String?
    var options: [OptionSyntax] = []
    /// Command lines worth knowing, shown first in help.
    var examples: [String] = []
    var commands: [CommandSyntax] = []

    /// Whether everything after the command's name belongs to another program.
    var passesArgumentsOn = false
}

/// One option.
struct OptionSyntax: Sendable {
    var name: String
    var letter: Character?
    /// The value's name in help; `nil` for an option without value.
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

    /// The variable that stands in for the option: `CLARITY_JOBS_CONFIG`.
    var variable: String {
        "CLARITY_JOBS_" + name.uppercased().replacing("-", with: "_")
    }
}

/// A command line that was understood.
struct Arguments {
    /// The names of the command and its subcommand.
    var path: [String] = []
    /// Of an option that was given several times the last value.
    var values: [String: String] = [:]
    /// Each value of an option, in their order.
    var given: [String: [String]] = [:]
    var flags: Set<String> = []
    var operands: [String] = []

    func has(_ flag: String) -> Bool { flags.contains(flag) }

    subscript(option: String) -> String? { values[option] }

    /// All values of an option that may be given several times.
    func all(_ option: String) -> [String] { given[option] ?? [] }
}
