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
