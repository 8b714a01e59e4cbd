import ClarityScheduler
import Platform

/// A crontab as the cron of Debian reads it, and the jobs that stand for its lines.
///
/// Beyond crontab(5) of Debian it knows `CRON_TZ` and `RANDOM_DELAY` of cronie.
struct Crontab {
    /// What the importing machine and user say.
    struct Reader {
        /// The name of the file in messages.
        var source: String
        /// Whether each line names a user before its command, as in /etc/crontab.
        var namesUsers: Bool
        /// The user for whom the jobs are to run.
        var user: String
        var hasZone: (String) -> Bool
    }

    /// The part of a job file that says what cron does and clarity-jobs would do otherwise.
    static let defaults =
        [
            "# As close to cron as a job file can be; delete a line to get the default beside it. One",
            "# difference is left: an occurrence during a run of the same job is skipped, and cron would",
            "# start a second one beside it.",
            "defaults:", "  catch_up: none # default: latest",
        ] + ImportedFile.defaults

    private(set) var parts: [ImportedPart] = []
    private let reader: Reader
    private var environment: [(name: String, value: String)] = []
    private var faults = ImportFaults()
    /// The lines of the comment directly above the next line.
    private var comment: [String] = []

    /// Reads a whole crontab.
    ///
    /// - Throws: `ImportFaults` for every line that cron would refuse.
    init(_ text: String, by reader: Reader) throws(ImportFaults) {
        self.reader = reader
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() { read(String(line), index + 1) }
        guard faults.lines.isEmpty else { throw faults }
    }

    private mutating func read(_ line: String, _ number: Int) {
        if line.unicodeScalars.contains(where: { $0 == "\r" || $0 == "\0" }) {
            return faults.add(
                reader.source, number,
                "holds a carriage return or NUL, which cron gives to the shell")
        }
        let text = line.drop { $0 == " " || $0 == "\t" }
        if text.isEmpty {
            comment = []
        } else if text.first == "#" {
            comment.append(text.drop { $0 == "#" || $0 == " " || $0 == "\t" }.description)
        } else if let (name, value) = Crontab.assignment(text) {
            comment = []
            take(name, value, number)
        } else {
            take(entry: text, number)
            comment = []
        }
    }

    // MARK: Variables

    /// Returns the name and value of a line such as `NAME = "value"`; `nil` for any other line.
    private static func assignment(_ line: Substring) -> (name: String, value: String)? {
        var rest = line
        guard let name = word(&rest, until: "= \t") else { return nil }
        rest = rest.drop { $0 == " " || $0 == "\t" }
        guard rest.popFirst() == "=" else { return nil }
        rest = rest.drop { $0 == " " || $0 == "\t" }
        while rest.last == " " || rest.last == "\t" { rest.removeLast() }
        guard let quote = rest.first, quote == "'" || quote == "\"" else {
            return (name, String(rest))
        }
        let inner = rest.dropFirst()
        guard let end = inner.firstIndex(of: quote), inner[end...].count == 1 else { return nil }
        return (name, String(inner[..<end]))
    }

    /// Takes a word, which may be quoted, from the beginning of a text.
    private static func word(_ rest: inout Substring, until ends: String) -> String? {
        if let quote = rest.first, quote == "'" || quote == "\"" {
            rest = rest.dropFirst()
            guard let end = rest.firstIndex(of: quote) else { return nil }
            defer { rest = rest[rest.index(after: end)...] }
            return String(rest[..<end])
        }
        let word = rest.prefix { !ends.contains($0) }
        rest = rest[word.endIndex...]
        return word.isEmpty ? nil : String(word)
    }

    private mutating func take(_ name: String, _ value: String, _ line: Int) {
        let place = "\(reader.source):\(line)"
        switch name {
        case "MAILTO" where !value.isEmpty:
            let target = ImportedFile.quoted(value)
            parts.append(
                .lost([
                    "\(place): not kept: MAILTO=\(value): cron mails all output. `clarity-jobs logs JOB`",
                    "shows it; for a mail about each failure write at the top of this file",
                    "  notify: [{ kind: mail, to: \(target) }]",
                ]))
            return
        case "MAILTO", "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING", "LOGNAME", "USER":
            return
        case "CRON_TZ" where !value.isEmpty && !reader.hasZone(value):
            return faults.add(
                reader.source, line, "CRON_TZ: this machine knows no time zone `\(value)`")
        case "RANDOM_DELAY" where !(decimalMinutes(value).map { 0...1440 ~= $0 } ?? false):
            return faults.add(
                reader.source, line, "RANDOM_DELAY: got `\(value)`, wanted 0 to 1440 minutes")
        default:
            let isName = name.utf8.allSatisfy {
                0x30...0x39 ~= $0 || 0x41...0x5A ~= $0 || 0x61...0x7A ~= $0 || $0 == 0x5F
            }
            guard isName, !name.hasPrefix("CLARITY_"), name.first?.isNumber != true else {
                parts.append(
                    .lost(["\(place): not kept: a job file has no variable `\(name)`"]))
                return
            }
        }
        environment.removeAll { $0.name == name }
        environment.append((name, value))
    }

    private func decimalMinutes(_ text: String) -> Int? {
        text.utf8.allSatisfy { 0x30...0x39 ~= $0 } ? Int(text) : nil
    }

    private func value(_ name: String) -> String? { environment.last { $0.name == name }?.value }

    // MARK: Lines with a command

    private mutating func take(entry line: Substring, _ number: Int) {
        var rest = line
        let isName = rest.first == "@"
        var fields: [String] = []
        for _ in 0..<(isName ? 1 : 5) {
            guard let field = Crontab.field(&rest) else { break }
            fields.append(field)
        }
        guard isName || fields.count == 5 else {
            return faults.add(
                reader.source, number,
                "wanted five fields and a command, or NAME=VALUE, got \(shown(String(line)))")
        }
        let user = reader.namesUsers ? Crontab.field(&rest) : reader.user
        guard !rest.isEmpty, let user else {
            return faults.add(
                reader.source, number,
                reader.namesUsers ? "wanted a user and a command" : "has no command")
        }
        let place = "\(reader.source):\(number): "
        let words = fields.joined(separator: " ")
        var job = ImportedJob(name: name(of: rest), remarks: ["\(place)\(line)"])
        func lose(_ why: String) -> ImportedPart {
            .lost(["\(place)not kept: \(why)", "  \(line)"])
        }
        if !isName, words.contains("~") {
            parts.append(
                lose("`~` is a random minute of cronie; write one, and `randomized_delay`"))
            return
        }
        if words != "@reboot" {
            do throws(ExpressionError) {
                if try CronExpression(words).neverFires {
                    parts.append(lose("no month that it names has a day that it names"))
                    return
                }
            } catch {
                return faults.add(reader.source, number, error.description)
            }
        }
        guard user == reader.user else {
            parts.append(
                lose("it runs as `\(user)`, and a job file has one user: import it as that one"))
            return
        }
        job.schedule.append(("cron", ImportedFile.quoted(words)))
        addClock(to: &job, isAtBoot: words == "@reboot")
        addCommand(String(rest), to: &job)
        parts.append(.job(job))
    }

    private static func field(_ rest: inout Substring) -> String? {
        let word = rest.prefix { $0 != " " && $0 != "\t" }
        rest = rest[word.endIndex...].drop { $0 == " " || $0 == "\t" }
        return word.isEmpty ? nil : String(word)
    }

    private func addClock(to job: inout ImportedJob, isAtBoot: Bool) {
        // Neither has an effect on the start of the machine.
        guard !isAtBoot else { return }
        if let zone = value("CRON_TZ"), !zone.isEmpty {
            job.schedule.append(("time_zone", ImportedFile.quoted(zone)))
        }
        if let minutes = value("RANDOM_DELAY").flatMap(decimalMinutes), minutes > 0 {
            job.schedule.append(("randomized_delay", "\(minutes)m"))
        }
    }

    private func addCommand(_ text: String, to job: inout ImportedJob) {
        let (command, input) = Crontab.parts(of: text)
        let shell = value("SHELL").flatMap { $0.isEmpty ? nil : $0 } ?? "/bin/sh"
        // A job file would put the home folder in place of `~/`; this leaves it to the shell.
        func untouched(_ word: String) -> String { word.hasPrefix("~/") ? " \(word)" : word }
        if let input {
            job.command = [
                "/bin/sh", "-c", #"printf %s "${1#.}" | "$2" -c "$3""#, "sh", ".\(input)", shell,
                untouched(command),
            ]
        } else {
            job.command = [shell, "-c", untouched(command)]
        }
        let home = value("HOME") ?? ""
        job.folder = home.hasPrefix("/") ? home : "~"
        job.environment = environment.filter { !["CRON_TZ", "RANDOM_DELAY"].contains($0.name) }
    }

    /// Splits the text after the fields into the command and its standard input, as cron(8) does.
    private static func parts(of text: String) -> (command: String, input: String?) {
        var command = String.UnicodeScalarView()
        var input: String.UnicodeScalarView?
        var isEscaped = false
        for scalar in text.unicodeScalars {
            if input == nil, scalar == "%", !isEscaped {
                input = String.UnicodeScalarView()
                continue
            }
            var taken = scalar
            if scalar == "%" {
                if isEscaped {
                    if input == nil { command.removeLast() } else { input?.removeLast() }
                } else {
                    taken = "\n"
                }
            }
            if input == nil { command.append(taken) } else { input?.append(taken) }
            isEscaped = scalar == "\\" && (input != nil || !isEscaped)
        }
        if let last = input?.last, last != "\n" { input?.append("\n") }
        return (String(command), input.map { String($0) })
    }

    // MARK: Names

    /// Returns what names a job: the first line of the comment directly above it, or its program.
    private func name(of command: Substring) -> String {
        let said = comment.first { line in
            let words = line.split { $0 == " " || $0 == "\t" }
            let isHeading = line.lowercased().contains("dom") && line.lowercased().contains("dow")
            let isEntry = words.count > 5 && Crontab.isSchedule(words.prefix(5))
            return !isHeading && !isEntry && line.contains { $0.isASCII && $0.isLetter }
                && !line.hasPrefix("@")
        }
        return said ?? Crontab.program(in: command)
    }

    private static func isSchedule(_ words: ArraySlice<Substring>) -> Bool {
        do throws(ExpressionError) {
            _ = try CronExpression(words.joined(separator: " "))
            return true
        } catch {
            return false
        }
    }

    /// Returns the name of the program of a command line, with that of its script.
    private static func program(in command: Substring) -> String {
        var words = command.split { " \t;()".contains($0) }[...]
        func leaf(_ word: Substring) -> String {
            word.split(separator: "/").last.map(String.init) ?? ""
        }
        // `cd /srv && backup`, `test -x /usr/sbin/x || ( ... )`, `[ -x /usr/bin/x ] && x`
        if let first = words.first, ["cd", "test", "["].contains(first),
            let mark = words.firstIndex(where: { $0 == "&&" || $0 == "||" })
        {
            words = words[(mark + 1)...]
        }
        words = words.drop { $0.contains("=") && !$0.hasPrefix("/") }
        guard let first = words.first.map(leaf) else { return "job" }
        let runners = [
            "sh", "bash", "python", "python3", "perl", "php", "node", "run-parts", "env",
        ]
        guard runners.contains(first),
            let script = words.dropFirst().first(where: { !$0.hasPrefix("-") }).map(leaf)
        else { return first }
        return "\(first)-\(script)"
    }
}
