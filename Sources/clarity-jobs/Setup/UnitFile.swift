import Platform

/// A unit with its drop-ins, as systemd.syntax(7) defines them.
struct UnitFile {
    /// One assignment.
    struct Setting {
        var section: String
        var key: String
        var value: String
        /// The file and its line.
        var place: String
    }

    /// The name of the unit, such as `backup@photos.timer`.
    var name: String
    private(set) var settings: [Setting] = []

    init(name: String) { self.name = name }

    /// Adds the settings of a file.
    ///
    /// - Throws: `ImportFaults` with each line that is neither a section nor an assignment.
    mutating func add(_ text: String, from source: String) throws(ImportFaults) {
        var faults = ImportFaults()
        var section = ""
        var pending: (text: String, line: Int)?
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, scalars) in lines.enumerated() {
            let line = UnitFile.trimmed(String(scalars))
            // A comment within a continued line does not end it.
            if line.hasPrefix("#") || line.hasPrefix(";") { continue }
            let whole = (pending?.text ?? "") + line
            let number = pending?.line ?? index + 1
            if whole.hasSuffix("\\"), index + 1 < lines.count {
                pending = (String(whole.dropLast()) + " ", number)
                continue
            }
            pending = nil
            if whole.isEmpty { continue }
            if whole.hasPrefix("["), whole.hasSuffix("]") {
                section = String(whole.dropFirst().dropLast())
            } else if let equals = whole.firstIndex(of: "="), !section.isEmpty {
                settings.append(
                    Setting(
                        section: section, key: UnitFile.trimmed(String(whole[..<equals])),
                        value: UnitFile.trimmed(String(whole[whole.index(after: equals)...])),
                        place: "\(source):\(number)"))
            } else {
                faults.add(
                    source, number, "wanted `[SECTION]` or `KEY=VALUE` in one, got \(shown(whole))")
            }
        }
        guard faults.lines.isEmpty else { throw faults }
    }

    /// Returns the settings of a key since the last empty one, which forgets those before it.
    func all(_ section: String, _ key: String) -> [Setting] {
        let given = settings.filter { $0.section == section && $0.key == key }
        let last = given.lastIndex { $0.value.isEmpty }
        return Array(given[(last.map { $0 + 1 } ?? 0)...])
    }

    /// Returns the value of a key that counts once: the last one.
    func value(_ section: String, _ key: String) -> String? { all(section, key).last?.value }

    /// Returns a value that says yes or no; `nil` without one.
    func flag(_ section: String, _ key: String) -> Bool? {
        value(section, key).map { ["1", "yes", "y", "true", "t", "on"].contains($0.lowercased()) }
    }

    private static func trimmed(_ text: String) -> String {
        var rest = text[...].drop { " \t\r".contains($0) }
        while let last = rest.last, " \t\r".contains(last) { rest.removeLast() }
        return String(rest)
    }

    // MARK: Specifiers

    /// Returns a text with its specifiers replaced; `nil` if it has one that only the service manager
    /// knows.
    func expanded(_ text: String, home: String, user: String) -> String? {
        let whole = name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name
        let prefix = String(whole.prefix { $0 != "@" })
        let instance = whole.firstIndex(of: "@").map { String(whole[whole.index(after: $0)...]) }
        var result = ""
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "%" else {
                result.unicodeScalars.append(scalar)
                continue
            }
            switch rest.popFirst() {
            case "%": result += "%"
            case "n": result += name
            case "N": result += whole
            case "p": result += prefix
            case "i": result += instance ?? ""
            case "h": result += home
            case "u": result += user
            default: return nil
            }
        }
        return result
    }

    // MARK: Spans

    /// Returns a span as systemd.time(7) writes it, such as `1h 30min`; `nil` for another text.
    static func span(_ text: String) -> Duration? {
        var total = 0.0
        var rest = text[...].drop { $0 == " " }
        guard !rest.isEmpty else { return nil }
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber || $0 == "." }
            rest = rest[digits.endIndex...].drop { $0 == " " }
            let unit = rest.prefix { $0.isLetter }
            rest = rest[unit.endIndex...].drop { $0 == " " }
            guard let number = Double(digits),
                let seconds = seconds[unit.isEmpty ? "s" : String(unit)]
            else { return nil }
            total += number * seconds
        }
        return total < 1e10 ? .milliseconds(Int64((total * 1000).rounded())) : nil
    }

    private static var seconds: [String: Double] {
        var seconds: [String: Double] = [:]
        let units: [(String, Double)] = [
            ("us usec µs μs", 1e-6), ("ms msec", 1e-3), ("s sec second seconds", 1),
            ("m min minute minutes", 60), ("h hr hour hours", 3600), ("d day days", 86_400),
            ("w week weeks", 604_800), ("M month months", 2_629_800),
            ("y year years", 31_557_600),
        ]
        for (names, length) in units {
            for name in names.split(separator: " ") { seconds[String(name)] = length }
        }
        return seconds
    }

    /// Returns a size such as `512M`; `nil` for `infinity`, a percentage and any other text.
    static func bytes(_ text: String) -> Int64? {
        let factors: [Character: Int64] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40]
        guard let last = text.last, let factor = factors[last] else { return Int64(text) }
        return Int64(text.dropLast()).map { $0.multipliedReportingOverflow(by: factor) }
            .flatMap { $0.overflow ? nil : $0.partialValue }
    }

    // MARK: Words

    /// Splits a value into words, with the quotes and escapes of systemd.syntax(7); `nil` if a quote
    /// is left open. A `;` alone is the word `nil`: it separates commands.
    static func words(_ text: String) -> [String?]? {
        var words: [String?] = []
        var rest = text.unicodeScalars[...]
        while true {
            rest = rest.drop { $0 == " " || $0 == "\t" }
            guard let first = rest.first else { return words }
            let alone = rest.prefix { $0 != " " && $0 != "\t" }
            if [";", "\\;"].contains(String(alone)) {
                words.append(alone.count == 1 ? nil : ";")
                rest = rest[alone.endIndex...]
                continue
            }
            var word = ""
            var quote: Unicode.Scalar?
            if first == "'" || first == "\"" {
                quote = first
                rest.removeFirst()
            }
            scan: while true {
                guard let scalar = rest.popFirst() else {
                    guard quote == nil else { return nil }
                    break scan
                }
                switch scalar {
                case " " where quote == nil, "\t" where quote == nil: break scan
                case _ where scalar == quote: quote = nil
                case "'" where quote == nil, "\"" where quote == nil: quote = scalar
                case "\\":
                    guard let escaped = escape(&rest) else { return nil }
                    word += escaped
                default: word.unicodeScalars.append(scalar)
                }
            }
            words.append(word)
        }
    }

    private static func escape(_ rest: inout Substring.UnicodeScalarView) -> String? {
        func number(_ count: Int, _ radix: Int) -> String? {
            let digits = String(rest.prefix(count))
            rest = rest.dropFirst(count)
            return UInt32(digits, radix: radix).flatMap(Unicode.Scalar.init).map { String($0) }
        }
        guard let scalar = rest.first else { return nil }
        if "0"..."9" ~= scalar { return number(3, 8) }
        rest.removeFirst()
        switch scalar {
        case "a": return "\u{7}"
        case "b": return "\u{8}"
        case "f": return "\u{c}"
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "v": return "\u{b}"
        case "s": return " "
        case "\\", "\"", "'": return String(scalar)
        case "x": return number(2, 16)
        case "u": return number(4, 16)
        case "U": return number(8, 16)
        default: return "\\\(scalar)"
        }
    }
}
