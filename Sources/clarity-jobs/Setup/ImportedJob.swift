import ClarityHost
import Platform

/// A job of the kind `command` that stands for a line of a crontab or for a systemd timer.
struct ImportedJob {
    /// What its id is made of.
    var name: String
    /// Where it comes from and what of that is lost, for the comment above it.
    var remarks: [String]
    /// The keys of its schedule, each with its value in YAML.
    var schedule: [(key: String, value: String)] = []
    /// Its other keys, each with its value in YAML.
    var keys: [(key: String, value: String)] = []
    var command: [String] = []
    var folder: String?
    /// The umask of its program: that of cron and systemd, which have none of their own.
    var umask = CommandPlan.Umask.allRead
    var environment: [(name: String, value: String)] = []
}

/// What becomes of a line or a timer.
enum ImportedPart {
    case job(ImportedJob)
    /// It cannot be kept; the lines say what it was and why.
    case lost([String])
}

/// The job file that an import prints.
struct ImportedFile {
    /// The command and its source, such as `import-jobs crontab` and `/etc/crontab`.
    var origin: String
    /// The comment and the lines of `defaults`.
    var defaults: [String]
    var parts: [ImportedPart]

    /// The lines of `defaults` for any scheduler that tries once and limits nothing.
    static let defaults = [
        "  max_parallel: 64 # default: 2", "  retry: { attempts: 1 } # default: 5",
        "  timeout: 7d # default: 15m", "  memory_limit: 1TiB # default: 256MiB",
    ]

    /// Whether there is a job in it: a job file without any is none.
    var hasJobs: Bool { parts.contains { if case .job = $0 { true } else { false } } }

    /// What is lost, and why.
    var losses: [String] {
        parts.flatMap { if case .lost(let remarks) = $0 { remarks } else { [String]() } }
    }

    /// The lines of the job file.
    var lines: [String] {
        var used: Set<String> = []
        var lines = ["# Made by `clarity-jobs \(origin)`.".printable]
        lines += [
            "# Check it with `clarity-jobs validate`, and turn the old lines or timers off before a loop",
            "# runs it: both would start the same programs.",
            "version: 1", "",
        ]
        lines += defaults + ["", "jobs:"]
        for part in parts {
            switch part {
            case .lost(let remarks): lines += [""] + ImportedFile.comment(remarks)
            case .job(let job):
                let id = ImportedFile.id(of: job.name, &used)
                lines += [""] + ImportedFile.comment(job.remarks) + ImportedFile.lines(job, id)
            }
        }
        return lines
    }

    private static func comment(_ remarks: [String]) -> [String] {
        remarks.map { "  # \($0.printable)" }
    }

    private static func lines(_ job: ImportedJob, _ id: String) -> [String] {
        func mapping(_ pairs: [(key: String, value: String)]) -> String {
            "{ \(pairs.map { "\($0.key): \($0.value)" }.joined(separator: ", ")) }"
        }
        var lines = ["  - id: \(id)", "    kind: command"]
        if !job.schedule.isEmpty { lines.append("    schedule: \(mapping(job.schedule))") }
        lines += job.keys.map { "    \($0.key): \($0.value)" }
        lines += ["    options:", "      command: \(list(job.command))"]
        if let folder = job.folder { lines.append("      folder: \(quoted(folder))") }
        lines.append("      umask: \(quoted(job.umask.rawValue))")
        if !job.environment.isEmpty {
            lines.append(
                "      environment: \(list(job.environment.map { "\($0.name)=\($0.value)" }))")
        }
        return lines
    }

    /// Returns an id that no job has yet, of lowercase letters, digits, `.`, `-` and `_`.
    private static func id(of name: String, _ used: inout Set<String>) -> String {
        var id = ""
        for character in name.lowercased() where id.count < 40 {
            let isKept = character.isASCII && (character.isLetter || character.isNumber)
            if isKept || "._".contains(character) {
                id.append(character)
            } else if !id.isEmpty, id.last != "-" {
                id.append("-")
            }
        }
        while let last = id.last, "-._".contains(last) { id.removeLast() }
        // An id that begins with a letter is never a number in YAML.
        if id.first?.isLetter != true { id = id.isEmpty ? "job" : "job-\(id)" }
        var unique = id
        var number = 2
        while !used.insert(unique).inserted {
            unique = "\(id)-\(number)"
            number += 1
        }
        return unique
    }

    /// Returns a list of texts in YAML.
    static func list(_ words: [String]) -> String {
        "[\(words.map(quoted).joined(separator: ", "))]"
    }

    /// Returns any text in double quotes, with the escapes of YAML for what would not be printed.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case _ where scalar.steersTerminal:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

/// Lines of an imported file that nobody could have meant, each as one line with its place.
struct ImportFaults: Error {
    private(set) var lines: [String] = []

    mutating func add(_ source: String, _ line: Int, _ message: String) {
        lines.append("\(source):\(line): \(message)".printable)
    }
}
