import ClarityHost

/// The command that does what the lines `Exec...` of a service do, one after the other.
///
/// A service with one program is that program. Anything more is a script of sh(1): `$NAME` and
/// `${NAME}` are its variables, and a line whose failure counts ends it.
struct ServiceScript {
    /// The settings of the section `Service` that it reads.
    static let keys: Set<String> = [
        "Type", "ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost", "EnvironmentFile",
        "UMask", "Nice", "IOSchedulingClass", "IOSchedulingPriority",
    ]

    /// The program and its arguments.
    private(set) var words: [String] = []
    /// The umask with which it starts.
    private(set) var umask = CommandPlan.Umask.allRead
    private(set) var remarks: [String] = []
    private let service: UnitFile
    private let home: String
    private let user: String

    init(_ service: UnitFile, home: String, user: String) {
        self.service = service
        self.home = home
        self.user = user
    }

    /// A program that a line starts.
    private struct Program {
        /// Each word as it is, and as the shell reads it.
        var words: [(plain: String, shell: String)] = []
        var ignoresFailure = false
        var needsShell = false

        /// Whether a variable in it is to be split into words.
        var splits: Bool { words.contains { $0.shell.hasPrefix("$") } }

        var shell: String { words.map(\.shell).joined(separator: " ") }
    }

    /// Reads the service.
    mutating func add() throws(TimerImport.Unkept) {
        if service.value("Service", "Type") == "forking" {
            throw TimerImport.Unkept(
                "`Type=forking` leaves a daemon behind; a job ends with its program")
        }
        var lines = try settings()
        let conditions = try programs("ExecCondition").map { "\($0.shell) || exit 0" }
        let before = try programs("ExecStartPre")
        let main = try programs("ExecStart")
        let after = try programs("ExecStartPost")
        guard let last = main.last else {
            throw TimerImport.Unkept("\(service.name) starts no program")
        }
        if !after.isEmpty, service.value("Service", "Type") != "oneshot" {
            remarks.append(
                "ExecStartPost: systemd runs it once the program has started, this job when it has ended"
            )
        }
        let splits = (before + main + after).contains { $0.splits }
        if splits { lines.append("set -f") }
        lines += conditions + (before + main.dropLast()).map(ServiceScript.step)
        if lines.isEmpty, after.isEmpty, !last.ignoresFailure, !last.needsShell {
            words = last.words.map(\.plain)
        } else {
            if after.isEmpty, !last.ignoresFailure {
                lines.append("exec \(last.shell)")
            } else {
                lines += ([last] + after).map(ServiceScript.step)
            }
            words = ["/bin/sh", "-c", lines.joined(separator: "\n")]
        }
        words = try prefix() + words
    }

    private static func step(_ program: Program) -> String {
        program.shell + (program.ignoresFailure ? " || :" : " || exit")
    }

    /// Returns the lines that prepare the shell.
    private mutating func settings() throws(TimerImport.Unkept) -> [String] {
        var lines: [String] = []
        if let text = service.value("Service", "UMask") {
            guard let bits = UInt16(text, radix: 8), bits <= 0o777 else {
                throw TimerImport.Unkept("UMask=\(text) is no umask")
            }
            let mask = String(bits, radix: 8)
            let digits = String(repeating: "0", count: 3 - mask.count) + mask
            if let kept = CommandPlan.Umask(rawValue: digits) {
                umask = kept
            } else {
                lines.append("umask \(digits)")
            }
        }
        for setting in service.all("Service", "EnvironmentFile") {
            let isOptional = setting.value.hasPrefix("-")
            let path = isOptional ? String(setting.value.dropFirst()) : setting.value
            guard let path = service.expanded(path, home: home, user: user) else {
                throw TimerImport.Unkept("\(setting.place): cannot read EnvironmentFile=\(path)")
            }
            let isPattern = path.utf8.contains { "*?[".utf8.contains($0) }
            let word = isPattern ? "\"$file\"" : shellQuoted(path)
            let read =
                (isOptional ? "[ ! -e \(word) ] || " : "") + "{ set -a; . \(word); set +a; }"
            lines.append(
                isPattern ? "for file in \(ServiceScript.pattern(path)); do \(read); done" : read)
            remarks.append(
                "\(path) is read by the shell now: put single quotes around each value there that has "
                    + "anything but letters, digits and `_-+=.,:/@%`; a comment begins with `#`")
        }
        return lines
    }

    /// Returns a pattern of files for the shell, whose wildcards are those of glob(7) too.
    private static func pattern(_ path: String) -> String {
        var words = ""
        var literal = ""
        for scalar in path.unicodeScalars {
            guard "*?[]!-".unicodeScalars.contains(scalar) else {
                literal.unicodeScalars.append(scalar)
                continue
            }
            words += (literal.isEmpty ? "" : shellQuoted(literal)) + String(scalar)
            literal = ""
        }
        return words + (literal.isEmpty ? "" : shellQuoted(literal))
    }

    /// Returns the programs that lower the priority of what follows.
    private func prefix() throws(TimerImport.Unkept) -> [String] {
        var words: [String] = []
        if let nice = service.value("Service", "Nice") {
            guard let number = Int(nice), -20...19 ~= number else {
                throw TimerImport.Unkept("Nice=\(nice) is no priority")
            }
            words += ["nice", "-n", nice]
        }
        let classes = ["none": "0", "realtime": "1", "best-effort": "2", "idle": "3"]
        if let name = service.value("Service", "IOSchedulingClass") {
            guard let number = classes[name] ?? (classes.values.contains(name) ? name : nil) else {
                throw TimerImport.Unkept("IOSchedulingClass=\(name) is no class")
            }
            words += ["ionice", "-c", number]
            if let priority = service.value("Service", "IOSchedulingPriority"), number != "3" {
                words += ["-n", priority]
            }
        }
        return words
    }

    // MARK: Lines

    private mutating func programs(_ key: String) throws(TimerImport.Unkept) -> [Program] {
        var programs: [Program] = []
        for setting in service.all("Service", key) {
            guard let words = UnitFile.words(setting.value) else {
                throw TimerImport.Unkept("\(setting.place): \(key) has an open quote")
            }
            for line in words.split(separator: nil, omittingEmptySubsequences: true) {
                try programs.append(program(line.compactMap(\.self), setting))
            }
        }
        return programs
    }

    private mutating func program(
        _ line: [String], _ setting: UnitFile.Setting
    ) throws(TimerImport.Unkept) -> Program {
        var line = line
        var program = Program()
        var substitutes = true
        var namesItself = false
        var first = line.removeFirst()[...]
        while let mark = first.first, "-@:+!|".contains(mark) {
            first = first.dropFirst()
            switch mark {
            case "-": program.ignoresFailure = true
            case ":": substitutes = false
            case "@": namesItself = true
            default: remarks.append("not kept: \(setting.place): `\(mark)` of \(setting.key)")
            }
        }
        if namesItself, !line.isEmpty {
            remarks.append("not kept: \(setting.place): its own name `\(line.removeFirst())`")
        }
        guard !first.isEmpty else {
            throw TimerImport.Unkept("\(setting.place): \(setting.key) names no program")
        }
        for word in [String(first)] + line {
            guard let text = service.expanded(word, home: home, user: user) else {
                throw TimerImport.Unkept(
                    "\(setting.place): only the service manager knows a specifier of `\(word)`")
            }
            let (plain, shell) = ServiceScript.word(text, substitutes: substitutes)
            program.words.append((plain ?? text, shell))
            // A job file would put the home folder in place of `~/`.
            if plain == nil || text.hasPrefix("~/") { program.needsShell = true }
        }
        if program.words.count > 90 { program.needsShell = true }
        return program
    }

    /// Returns a word without variables as it is, and any word for the shell.
    private static func word(
        _ text: String, substitutes: Bool
    ) -> (plain: String?, shell: String) {
        guard substitutes, text.utf8.contains(UInt8(ascii: "$")) else {
            return (text, shellQuoted(text))
        }
        let name = text.dropFirst()
        if text.first == "$", isVariable(name) {
            // Split at blanks; `set -f` above keeps the shell from looking for files.
            return (nil, "$\(name)")
        }
        var literal = ""
        var shell = ""
        var hasVariable = false
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            if scalar == "$", rest.first == "$" {
                rest.removeFirst()
                literal.append("$")
            } else if scalar == "$", rest.first == "{", let end = rest.firstIndex(of: "}"),
                isVariable(Substring(rest[..<end].dropFirst()))
            {
                if !literal.isEmpty { shell += shellQuoted(literal) }
                literal = ""
                shell += "\"$\(Substring(rest[...end]))\""
                hasVariable = true
                rest = rest[rest.index(after: end)...]
            } else {
                literal.unicodeScalars.append(scalar)
            }
        }
        if !literal.isEmpty { shell += shellQuoted(literal) }
        return hasVariable ? (nil, shell) : (literal, shellQuoted(literal))
    }

    private static func isVariable(_ name: Substring) -> Bool {
        name.first?.isNumber == false
            && name.utf8.allSatisfy {
                0x30...0x39 ~= $0 || 0x41...0x5A ~= $0 || 0x61...0x7A ~= $0 || $0 == 0x5F
            }
    }
}
