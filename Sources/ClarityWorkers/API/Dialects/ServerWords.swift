/// What a backend said of a sample, as far as it may be kept: its sentence without what could be a value
/// of the sample's.
enum ServerWords {
    /// The most bytes that are kept.
    static let longest = 160
    /// The most bytes of a sentence that are looked at.
    private static let mostRead = 2048

    /// The sentence with every number as `#`, and with nothing of what stands in quotation marks or in
    /// brackets, where the input is repeated; `nil` when nothing is left of it.
    ///
    /// Control characters count as spaces. A quotation or bracket that is not closed hides the rest.
    static func redacted(_ sentence: String) -> String? {
        var kept = ""
        var rest = Substring(sentence.prefix(mostRead))
        while let character = rest.popFirst() {
            if let end = closing(character, after: kept.last) {
                let inner = rest.firstIndex(of: end)
                rest = inner.map { rest[rest.index(after: $0)...] } ?? ""
                kept += "..."
            } else if isDigit(character) {
                rest = rest.drop { isDigit($0) || isPartOfNumber($0) }
                kept += kept.hasSuffix("#") ? "" : "#"
            } else if isSpace(character) {
                if !kept.isEmpty, !kept.hasSuffix(" ") { kept += " " }
            } else {
                kept.append(character)
            }
        }
        while kept.last == " " { kept.removeLast() }
        let hasWords = kept.contains { $0.isLetter }
        return hasWords ? cut(kept) : nil
    }

    /// What ends the quotation or bracket that a character begins; an apostrophe within a word begins
    /// none.
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

    /// What holds the digits of one number, of a date or of a time together.
    private static func isPartOfNumber(_ character: Character) -> Bool {
        ".,:+-/eETZ%".contains(character)
    }

    private static func isSpace(_ character: Character) -> Bool {
        character.isWhitespace
            || character.unicodeScalars.contains {
                [.control, .format, .surrogate, .privateUse].contains($0.properties.generalCategory)
            }
    }

    /// The text, or as much of it as fits with `...` at its end.
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
