import ClarityScheduler
import JSON

/// The content of a refusal by the backend: its code, and the metrics, fields and fault codes it
/// names.
///
/// This is the one reader for refusals of every shape. It reads `validation_errors` or `errors`
/// with fields such as `metrics[3].metric_id`, `detail` with locations such as
/// `["body", "metrics", 3, "metric_id"]`, and the code of a problem at the top, under `detail` or
/// under `error`. Of a sentence it reveals only how it begins, and what `ServerWords` leaves of it.
/// It never reads the echo of the input. Both can hold health values.
struct FaultReport {
    /// The largest body that is read: 1 MiB. A refusal that echoes a full upload is smaller.
    static let largestBody = 1 << 20
    /// The most faults that are read.
    static let mostFaults = 10_000

    /// One fault, and the metric that has it.
    struct Fault: Hashable {
        var index: Int
        var field: String
        var code: String
        /// The backend's sentence about the fault, without numbers and quotations.
        var words: String?

        /// Whether the backend says that it already has this metric.
        var isDuplicate: Bool {
            ["duplicate", "exists"].contains { code.lowercased().contains($0) }
        }

        /// Whether the backend gave a code for the fault.
        var hasCode: Bool { code != FaultReport.unnamed }
    }

    private(set) var faults: [Fault] = []
    /// The backend's code for the refusal; `nil` if it gives none that is a name.
    private(set) var code: String?
    /// Whether the refusal names the time of sending, which belongs to no metric.
    private(set) var namesSendingTime = false
    /// Whether the body is a JSON object.
    private(set) var isJSON = false
    /// The backend's sentence about the refusal as a whole, else its first one about a fault;
    /// without numbers and quotations.
    private(set) var words: String?
    /// A short body that is not a JSON object, to compare with a known one.
    private(set) var plainText: String?
    private var sentence = ""

    /// The metrics that the refusal names, ascending, without repeats.
    var indices: [Int] { indices { _ in true } }

    /// Returns the metrics that it names with a wanted fault, ascending, without repeats.
    func indices(where isWanted: (Fault) -> Bool) -> [Int] {
        Set(faults.filter(isWanted).map(\.index)).sorted()
    }

    /// Reads a refusal's body; a body of any other shape names nothing.
    init(_ body: [UInt8]) {
        guard body.count <= FaultReport.largestBody,
            let refusal = lenient({ try Refusal(body) })
        else {
            if body.count <= 100 { plainText = String(validating: body, as: UTF8.self) }
            return
        }
        faults = FaultReport(refusal.items).faults
        namesSendingTime = refusal.items.prefix(FaultReport.mostFaults).contains { item in
            [["client_timestamp"], ["body", "client_timestamp"]].contains(item.path)
        }
        isJSON = true
        code = refusal.code.map(FaultReport.name).flatMap { $0 == FaultReport.unnamed ? nil : $0 }
        sentence = refusal.sentence ?? ""
        words =
            ServerWords.redacted(sentence)
            ?? refusal.items.prefix(FaultReport.mostFaults).lazy.compactMap(\.words).first
    }

    /// Whether the backend's sentence begins with `words`.
    func begins(with words: String) -> Bool { sentence.utf8.starts(with: words.utf8) }

    /// Returns the backend's words about a password that it refused, without what could be of it.
    func policy(about password: String) -> String? {
        ServerWords.policy(sentence, about: password)
    }

    /// Reads faults that were read as part of an answer.
    init(_ items: [Item]) {
        faults = items.prefix(FaultReport.mostFaults).compactMap { item in
            let path = item.path
            guard path.first == "metrics" || path.first == "body",
                let metrics = path.firstIndex(of: "metrics"),
                metrics + 1 < path.endIndex, let index = Int(path[metrics + 1]), index >= 0
            else { return nil }
            let field = path[(metrics + 2)...].joined(separator: ".")
            return Fault(
                index: index, field: FaultReport.name(field), code: item.code, words: item.words)
        }
    }

    /// A fault as the backend names it.
    struct Item {
        let path: [String]
        let code: String
        let words: String?

        init(_ fault: JSONPart) throws(JSONPart.Fault) {
            // Only an object has names.
            _ = try fault.names()
            words = fault.firstText(of: "message", "msg").flatMap(ServerWords.redacted)
            let parts = lenient {
                try fault.member("loc").elements().map { part in
                    try lenient { try String(part.integer()) } ?? part.text()
                }
            }
            path = (parts ?? [fault.firstText(of: "field") ?? ""]).flatMap {
                $0.split { "[].".contains($0) }.map(String.init)
            }
            code = FaultReport.name(fault.firstText(of: "code", "type") ?? "")
        }
    }

    /// Reads a list of faults.
    static func items(_ list: JSONPart) throws(JSONPart.Fault) -> [Item] {
        try list.elements().map(Item.init)
    }

    private struct Refusal {
        let items: [Item]
        let code: String?
        let sentence: String?

        init(_ body: [UInt8]) throws(JSONPart.Fault) {
            let answer = try JSONPart(of: body)
            // Only an object has names.
            _ = try answer.names()
            items = ["validation_errors", "errors", "detail"].flatMap { name in
                lenient { try FaultReport.items(answer.member(name)) } ?? []
            }
            // A problem, under whichever names it has its parts.
            let problems =
                ["detail", "error"].compactMap { name in
                    lenient { try answer.member(name) }
                } + [answer]
            code =
                problems.lazy.compactMap { $0.firstText(of: "code", "type") }.first
                ?? answer.firstText(of: "error")
            sentence =
                answer.firstText(of: "detail")
                ?? problems.lazy.compactMap { $0.firstText(of: "detail", "error", "message") }.first
        }
    }

    /// Returns `text` if it is a name such as `activity_data.vo2_max`, otherwise `unnamed`.
    ///
    /// A server's word for a field or a code could be the value that it refuses, or contain it. So
    /// a name begins with a letter and has no two digits in a row.
    static func name(_ text: String) -> String {
        let isNumber = zip(text.utf8, text.utf8.dropFirst()).contains { first, second in
            (0x30...0x39).contains(first) && (0x30...0x39).contains(second)
        }
        return text.first?.isLetter == true && !isNumber ? plain(text) ?? unnamed : unnamed
    }

    /// Returns `text` if it consists of 1 to 80 ASCII letters, digits, dots, dashes and
    /// underscores.
    static func plain(_ text: String) -> String? {
        let isPlain =
            (1...80).contains(text.utf8.count) && text.utf8.areLettersDigits(or: "._-")
        return isPlain ? text : nil
    }

    private static let unnamed = "unnamed"
}

extension JSONPart {
    /// Returns the first text under one of the names.
    fileprivate func firstText(of names: String...) -> String? {
        names.lazy.compactMap { name in lenient { try member(name).text() } }.first
    }
}

/// The backend's words about an upload that it refused, without what could be a value.
///
/// They are for the samples that they are about and for nothing else. Nobody knows what words
/// contain, so descriptions and dumps leave them out.
package struct RefusalWords: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The words about each metric that the backend named, by its index in the batch.
    package private(set) var named: [Int: String] = [:]
    /// The words about the upload as a whole.
    package private(set) var whole: String?
    /// Whether the backend gave a code of its own, and so knew what it refused.
    package private(set) var hasCode = false

    /// Reads a refusal. A metric may break several rules; the first one that the backend put in
    /// words counts.
    init(_ report: FaultReport) {
        for fault in report.faults where !fault.isDuplicate && named[fault.index] == nil {
            named[fault.index] = fault.words
        }
        whole = report.words
        hasCode = report.code != nil
    }

    package var description: String { "words about \(named.count) metrics" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Returns the result of `read`, or `nil` if it throws.
///
/// For values that a backend may leave out or write differently, if only their absence follows.
func lenient<Value>(_ read: () throws -> Value?) -> Value? {
    do { return try read() } catch { return nil }
}

/// Removes from a backend's sentence everything that could be a value or a part of a secret.
enum ServerWords {
    /// The longest text that is returned, in bytes.
    static let longest = 160
    /// The most characters of a sentence that are read.
    private static let mostRead = 2048

    /// Returns the sentence with `#` for every number, and `...` for everything in quotation marks
    /// or brackets, where backends repeat the input; `nil` if no word is left.
    ///
    /// Control characters count as spaces. A quotation or bracket that is not closed hides the
    /// rest.
    static func redacted(_ sentence: String) -> String? {
        redacted(sentence, keepsShortNumbers: false)
    }

    /// Returns the backend's sentence about a password that it refused, without the code in brackets
    /// at its beginning; `nil` if no word is left, or if it repeats the password.
    ///
    /// Numbers of up to three digits stay, because the rule may name a length.
    static func policy(_ sentence: String, about password: String) -> String? {
        guard !sentence.lowercased().contains(password.lowercased()) else { return nil }
        var rule = Substring(sentence)
        if rule.first == "[", let end = rule.firstIndex(of: "]") {
            rule = rule[rule.index(after: end)...]
        }
        return redacted(String(rule), keepsShortNumbers: true)
    }

    private static func redacted(_ sentence: String, keepsShortNumbers: Bool) -> String? {
        var text = ""
        var rest = Substring(sentence.prefix(mostRead))
        while let character = rest.popFirst() {
            if let end = closing(character, after: text.last) {
                let inner = rest.firstIndex(of: end)
                rest = inner.map { rest[rest.index(after: $0)...] } ?? ""
                text += "..."
            } else if isDigit(character) {
                let number = rest.prefix { isDigit($0) || isPartOfNumber($0) }
                rest = rest[number.endIndex...]
                let digits = number.prefix(while: isDigit)
                let isShort =
                    digits.count < 3 && !number[digits.endIndex...].contains(where: isDigit)
                if keepsShortNumbers, isShort {
                    text += "\(character)\(number)"
                } else {
                    text += text.hasSuffix("#") ? "" : "#"
                }
            } else if isSpace(character) {
                if !text.isEmpty, !text.hasSuffix(" ") { text += " " }
            } else {
                text.append(character)
            }
        }
        while text.last == " " { text.removeLast() }
        let hasWords = text.contains { $0.isLetter }
        return hasWords ? cut(text) : nil
    }

    /// Returns the end of the quotation or bracket that a character begins; `nil` if it begins
    /// none. An apostrophe within a word begins none.
    private static func closing(_ character: Character, after last: Character?) -> Character? {
        switch character {
        case "\"": "\""
        case "`": "`"
        case "'": last?.isLetter == true ? nil : "'"
        case "\u{201C}": "\u{201D}"
        case "\u{2018}": "\u{2019}"
        case "\u{AB}": "\u{BB}"
        case "{": "}"
        case "[": "]"
        case "<": ">"
        default: nil
        }
    }

    private static func isDigit(_ character: Character) -> Bool { character.isNumber }

    /// Whether a character joins the digits of one number, date or time.
    private static func isPartOfNumber(_ character: Character) -> Bool {
        ".,:+-/eETZ%".contains(character)
    }

    private static func isSpace(_ character: Character) -> Bool {
        character.isWhitespace
            || character.unicodeScalars.contains {
                [.control, .format, .surrogate, .privateUse].contains($0.properties.generalCategory)
            }
    }

    /// Returns the text, truncated with `...` at its end if it exceeds `longest` bytes.
    private static func cut(_ text: String) -> String {
        guard text.utf8.count > longest else { return text }
        var cut = ""
        for character in text {
            guard cut.utf8.count + character.utf8.count + 3 <= longest else { break }
            cut.append(character)
        }
        return cut + "..."
    }
}
