extension CommandSyntax {
    /// Returns the help page of this command; `path` is what the user typed to reach it.
    func help(path: [String], common: [OptionSyntax]) -> String {
        var usage = path.joined(separator: " ")
        if !commands.isEmpty { usage += runsAlone ? " [COMMAND]" : " COMMAND" }
        if let operands { usage += " \(operands)" }
        let introduction = ([summary] + details).map { "\($0)\n" }.joined()
        var page = "\(introduction)\nUsage: \(usage) [OPTION...]\n"
        if !examples.isEmpty {
            page += "\nExamples:\n" + examples.map { "  \($0)\n" }.joined()
        }
        if !commands.isEmpty {
            page += "\nCommands:\n" + Help.columns(commands.map { ($0.name, $0.summary) })
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

    static func columns(_ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { name, summary in
            "  \(name)\(String(repeating: " ", count: width - name.count + 2))\(summary)\n"
        }.joined()
    }
}
