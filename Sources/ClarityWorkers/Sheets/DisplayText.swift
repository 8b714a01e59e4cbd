/// Text as it stands on a terminal.
enum DisplayText {
    /// The most bytes of a text from elsewhere that are shown.
    static let limit = 64 << 10

    /// The columns that a character takes: 2 for wide ones of East Asia and for emoji, 0 for what is
    /// written onto the one before.
    static func width(of character: Character) -> Int {
        var width = 0
        for scalar in character.unicodeScalars {
            // What follows a joiner or the sign for colours belongs to the same picture.
            width = max(width, DisplayText.width(of: scalar))
            if scalar.value == 0xFE0F { width = 2 }
        }
        return width
    }

    /// The columns that a text takes.
    static func width(of text: some StringProtocol) -> Int {
        text.reduce(0) { $0 + width(of: $1) }
    }

    /// A text from elsewhere without what steers a terminal or turns the direction of the text, each
    /// of which becomes U+FFFD; its ends of lines stay. At most `limit` bytes of it.
    static func harmless(_ text: String) -> String {
        var shown = String.UnicodeScalarView()
        for scalar in prefix(of: text).unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control where scalar == "\n": shown.append(scalar)
            case .control where scalar == "\t": shown.append(" ")
            // Both join what is one picture or one word.
            case .format where scalar.value == 0x200D || scalar.value == 0x200C:
                shown.append(scalar)
            case .control, .format, .lineSeparator, .paragraphSeparator: shown.append("\u{FFFD}")
            default: shown.append(scalar)
            }
        }
        return String(shown)
    }

    private static func prefix(of text: String) -> String {
        guard text.utf8.count > limit else { return text }
        return String(decoding: text.utf8.prefix(limit), as: UTF8.self) + "..."
    }

    /// The same on one line.
    static func line(_ text: String) -> String {
        harmless(text).split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// The beginning of a text on one line, of more characters than `width` columns have room for
    /// where the text has them: a text of a page is not gone through for one line of it.
    static func firstLine(_ text: String, width: Int) -> String {
        line(String(text.unicodeScalars.prefix(max(1024, 8 * width))))
    }

    /// A text in lines of at most `width` columns, at least 8, broken between words; a longer word
    /// is broken where it must be. Each end of a line in the text ends one.
    ///
    /// - Parameters:
    ///   - first: what stands before the first line.
    ///   - indent: how far the lines after it are moved in.
    static func wrapped(
        _ text: String, width: Int, first: String = "", indent: Int = 0
    ) -> [String] {
        let width = max(width, 8 + indent)
        let margin = String(repeating: " ", count: indent)
        var lines: [String] = []
        for paragraph in harmless(text).split(separator: "\n", omittingEmptySubsequences: false) {
            var line = lines.isEmpty ? first : margin
            var used = self.width(of: line)
            var isEmpty = true
            func end() {
                lines.append(trimmed(line))
                (line, used, isEmpty) = (margin, indent, true)
            }
            for word in paragraph.split(whereSeparator: { $0 == " " }) {
                let size = self.width(of: word)
                if !isEmpty, used + 1 + size > width { end() }
                if !isEmpty {
                    line += " "
                    used += 1
                }
                for character in word {
                    let columns = self.width(of: character)
                    if used + columns > width { end() }
                    line.append(character)
                    used += columns
                    isEmpty = false
                }
            }
            end()
        }
        return lines
    }

    /// As much of a line as takes at most `width` columns, with `...` at its end where it is more.
    static func cut(_ line: String, to width: Int) -> String {
        // Where the line is cut if it is too long, which is known a few characters later.
        var cut = line.startIndex
        var used = 0
        for index in line.indices {
            used += self.width(of: line[index])
            if used <= width - 3 { cut = line.index(after: index) }
            guard used <= width else { return String(line[..<cut]) + "..." }
        }
        return line
    }

    private static func trimmed(_ line: String) -> String {
        String(line.reversed().drop { $0 == " " }.reversed())
    }

    private static func width(of scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        if scalar.properties.isEmojiPresentation { return 2 }
        // The blocks of East Asian Width W and F (UAX 11).
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F,
            0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
            0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}
