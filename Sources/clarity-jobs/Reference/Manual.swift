import Platform

/// The manual of clarity-jobs: a page for the program, one for each command, and one for the job
/// file. Everything in it comes from the declarations that parse.
struct Manual {
    let root: CommandSyntax
    let reference: JobFileReference

    var pages: [ManualPage] {
        [program] + root.commands.filter { !$0.passesArgumentsOn }.map(page) + [jobFile]
    }

    private var program: ManualPage {
        var page = ManualPage(
            root.name, summary: root.summary, synopsis: "\(root.name) COMMAND [OPTION...]")
        page.heading("DESCRIPTION")
        page.paragraph(
            "clarity-jobs reads the jobs of a job file, clarity-jobs.yaml(5), and starts each one when "
                + "its schedule and its constraints allow. It keeps its state in one directory. Any "
                + "number of commands may run at the same time.")
        page.heading("COMMANDS")
        for command in root.commands {
            let isPage = !command.passesArgumentsOn
            page.definition(
                "\(command.name)",
                command.summary + (isPage ? " See \(root.name)-\(command.name)(1)." : ""))
        }
        page.heading("OPTIONS OF EVERY COMMAND")
        add(root.options, to: &page)
        page.heading("EXIT STATUS")
        for status in ExitStatus.allCases {
            page.definition("\(status.rawValue)", status.summary)
        }
        page.heading("ENVIRONMENT")
        page.paragraph(
            "Each option of every command can also be set by a variable: "
                + root.options.filter { $0.value != nil }.map { "`\($0.variable)`" }
                .joined(separator: ", ") + ". An option on the command line wins.")
        page.definition(
            "CLARITY_JOBS_KEY",
            "The master key in hexadecimal digits, instead of the file `keys/master.key` of the state "
                + "directory. The key `key` of the job file can name another variable.")
        page.definition("NO_COLOR", "If it is set, nothing is coloured.")
        page.heading("FILES")
        page.definition(
            "./jobs.yaml, ~/.config/clarity-jobs/jobs.yaml, /etc/clarity-jobs/jobs.yaml",
            "The job file, where `--config` names none; the first that exists.")
        page.definition(
            "~/.local/state/clarity-jobs",
            "The state directory, where neither `--state`, `$STATE_DIRECTORY` nor the job file names "
                + "one. If it does not exist, `/var/lib/clarity-jobs` is that of the job file in "
                + "`/etc/clarity-jobs`.")
        page.heading("EXAMPLES")
        page.code(root.examples)
        page.heading("SEE ALSO")
        page.paragraph("clarity-jobs.yaml(5)")
        return page
    }

    private func page(of command: CommandSyntax) -> ManualPage {
        let words = "\(root.name) \(command.name)"
        var page = ManualPage(
            "\(root.name)-\(command.name)", summary: command.summary,
            synopsis: usage(command, words))
        if !command.details.isEmpty {
            page.heading("DESCRIPTION")
            page.paragraph(command.details.joined(separator: " "))
        }
        if !command.options.isEmpty {
            page.heading("OPTIONS")
            add(command.options, to: &page)
        }
        if !command.commands.isEmpty {
            page.heading("COMMANDS")
            add(command.commands, of: words, to: &page)
        }
        if !command.examples.isEmpty {
            page.heading("EXAMPLES")
            page.code(command.examples)
        }
        page.heading("SEE ALSO")
        page.paragraph("\(root.name)(1) has the options of every command and the exit statuses.")
        return page
    }

    /// Adds commands and those below them.
    private func add(_ commands: [CommandSyntax], of words: String, to page: inout ManualPage) {
        for command in commands {
            let words = "\(words) \(command.name)"
            page.subheading(usage(command, words))
            page.paragraph(([command.summary] + command.details).joined(separator: " "))
            add(command.options, to: &page)
            if !command.examples.isEmpty { page.code(command.examples) }
            add(command.commands, of: words, to: &page)
        }
    }

    private func usage(_ command: CommandSyntax, _ words: String) -> String {
        ([words] + [command.operands].compactMap(\.self) + ["[OPTION...]"]).joined(separator: " ")
    }

    private func add(_ options: [OptionSyntax], to page: inout ManualPage) {
        for option in options {
            let choices =
                option.choices.isEmpty ? "" : ": \(option.choices.joined(separator: ", "))"
            page.definition(option.synopsis, option.summary + choices)
        }
    }

    private var jobFile: ManualPage {
        var page = ManualPage(
            "clarity-jobs.yaml", section: 5, summary: "the job file of clarity-jobs(1)")
        page.heading("DESCRIPTION")
        page.paragraph(
            "A job file is YAML 1.2. Durations and sizes have a unit: 30s, 15m, 6h, 90d, 1h30m; 500MiB, "
                + "2GiB. Booleans are `true` and `false`. `~/` is your home folder; other relative "
                + "paths start at the folder of the job file. `clarity-jobs validate` reports every "
                + "error in it; `clarity-jobs schema` prints a JSON Schema for editors.")
        for section in reference.sections {
            page.heading(section.title.replacing("`", with: "\"").uppercased())
            if let text = JobFileReference.introduction(of: section) { page.paragraph(text) }
            for row in JobFileReference.rows(of: section) {
                let facts = [
                    row.value.isEmpty ? nil : "Value: \(row.value).",
                    row.defaultValue.isEmpty
                        ? nil
                        : row.defaultValue == "required"
                            ? "Required." : "Default: \(row.defaultValue).",
                ].compactMap(\.self)
                page.definition(
                    row.names.map { $0.replacing("`", with: "") }.joined(separator: ", "),
                    row.meaning.prefix(1).uppercased() + row.meaning.dropFirst() + ". "
                        + facts.joined(separator: " "))
            }
        }
        page.heading("SEE ALSO")
        page.paragraph("clarity-jobs(1), clarity-jobs-validate(1), clarity-jobs-schema(1)")
        return page
    }
}

/// A page of the manual in the language of man(7).
///
/// Texts have the marks of Markdown for code, which becomes bold, and for links, of which the text
/// stays.
struct ManualPage {
    /// The page's name, such as `clarity-jobs-run`.
    let name: String
    /// The section of the manual: 1 for commands, 5 for files.
    let section: Int
    private(set) var text: String

    /// Begins a page with the sections NAME and SYNOPSIS.
    init(_ name: String, section: Int = 1, summary: String, synopsis: String? = nil) {
        self.name = name
        self.section = section
        text = ".TH \(name.uppercased().replacing("-", with: "\\-")) \(section) \"\" "
        text += "\"clarity\\-jobs \(programVersion)\"\n.nh\n.ad l\n"
        heading("NAME")
        let first = summary.prefix(1).lowercased() + summary.dropFirst()
        let phrase = first.hasSuffix(".") ? String(first.dropLast()) : first
        text += "\(ManualPage.plain(name)) \\- \(ManualPage.marked(phrase))\n"
        guard let synopsis else { return }
        heading("SYNOPSIS")
        text += ".B \(ManualPage.plain(synopsis))\n"
    }

    var fileName: String { "\(name).\(section)" }

    mutating func heading(_ title: String) { text += ".SH \(title)\n" }

    mutating func subheading(_ title: String) { text += ".SS \(ManualPage.marked(title))\n" }

    mutating func paragraph(_ words: String) { text += ".PP\n\(ManualPage.marked(words))\n" }

    /// Writes lines as they are.
    mutating func code(_ lines: [String]) {
        text += ".PP\n.nf\n.RS 4\n"
        text += lines.map { ManualPage.plain($0) + "\n" }.joined()
        text += ".RE\n.fi\n"
    }

    /// Writes a term and what it means.
    mutating func definition(_ term: String, _ meaning: String) {
        text += ".TP\n.B \(ManualPage.marked(term))\n\(ManualPage.marked(meaning))\n"
    }

    /// Returns a text in which no character has a meaning of its own.
    private static func plain(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
            .replacing("'", with: "\\(aq").replacing("`", with: "\\(ga")
        return escaped.hasPrefix(".") ? "\\&" + escaped : escaped
    }

    private static func marked(_ text: String) -> String {
        var result = ""
        for (index, part) in text.split(separator: "`", omittingEmptySubsequences: false)
            .enumerated()
        {
            result +=
                index.isMultiple(of: 2) ? linkTexts(part) : "\\fB\(plain(String(part)))\\fP"
        }
        return result.hasPrefix(".") ? "\\&" + result : result
    }

    /// Returns a text with each link `[text](address)` replaced by its text.
    private static func linkTexts(_ text: Substring) -> String {
        var result = ""
        var rest = text
        while let start = rest.firstIndex(of: "["), let end = rest.firstRange(of: "]("),
            start < end.lowerBound, let close = rest[end.upperBound...].firstIndex(of: ")")
        {
            result += rest[..<start] + rest[rest.index(after: start)..<end.lowerBound]
            rest = rest[rest.index(after: close)...]
        }
        return plain(result + rest)
    }
}
