import Platform

/// Prepares text for a terminal.
package enum DisplayText {
    /// The maximum size of an external text that is shown, in bytes: 64 KiB.
    static let limit = 64 << 10

    /// Returns the columns that a character takes: 2 for wide East Asian characters and for emoji,
    /// 0 for combining, format and control characters.
    static func width(of character: Character) -> Int {
        var width = 0
        for scalar in character.unicodeScalars {
            // Scalars after a joiner belong to the same glyph, so the widest scalar decides. U+FE0F
            // selects the emoji form.
            width = max(width, DisplayText.width(of: scalar))
            if scalar.value == 0xFE0F { width = 2 }
        }
        return width
    }

    /// Returns the columns that a text takes.
    static func width(of text: some StringProtocol) -> Int {
        text.reduce(0) { $0 + width(of: $1) }
    }

    /// Returns an external text without characters that control a terminal or change the direction
    /// of the text. Each of them becomes U+FFFD, and a tab becomes a space.
    ///
    /// Line ends stay. A text of more than `limit` bytes is cut there, and `...` is added.
    static func harmless(_ text: String) -> String {
        prefix(of: text).replacing("\t", with: " ").printableLines
    }

    private static func prefix(of text: String) -> String {
        guard text.utf8.count > limit else { return text }
        return text.prefix(bytes: limit) + "..."
    }

    /// Returns an external text as one line, made harmless in the same way.
    static func line(_ text: String) -> String {
        harmless(text).split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// Returns the beginning of a text as one line. If the text is long enough, the result has more
    /// characters than `width` columns can hold.
    ///
    /// Only the beginning is processed, so that one line of a long text is cheap.
    static func firstLine(_ text: String, width: Int) -> String {
        line(String(text.unicodeScalars.prefix(max(1024, 8 * width))))
    }

    /// Wraps a text into lines of at most `width` columns, of which at least 8 remain beside
    /// `indent`. Lines break between words; a word that is longer than a line is broken where it
    /// must be. Each line end in the text ends a line.
    ///
    /// - Parameters:
    ///   - first: the text in front of the first line.
    ///   - indent: the indentation of the lines after it, in columns.
    package static func wrapped(
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

    /// Wraps a line between its words, none of which is broken, and keeps the gaps between them.
    ///
    /// A word that does not fit beside the indentation is indented less. One that is wider than the
    /// terminal stays whole, so that it can be copied.
    ///
    /// - Parameters:
    ///   - first: the text in front of the first line.
    ///   - indent: the indentation of the lines after it, in columns.
    package static func fitted(
        _ line: String, width: Int, first: String, indent: Int
    ) -> [String] {
        var lines: [String] = []
        var current = first
        var gap = ""
        // An empty word is one more space between two others.
        for word in line.split(separator: " ", omittingEmptySubsequences: false) {
            guard !word.isEmpty else {
                gap += " "
                continue
            }
            let size = self.width(of: word)
            if self.width(of: current) + gap.count + size > width {
                if !trimmed(current).isEmpty { lines.append(trimmed(current)) }
                current = String(repeating: " ", count: min(indent, max(0, width - size)))
                gap = ""
            }
            current += gap + word
            gap = " "
        }
        return lines + [current]
    }

    /// Returns a line cut to at most `width` columns, with `...` at its end if it was longer.
    static func cut(_ line: String, to width: Int) -> String {
        // Where to cut the line if it turns out to be too long.
        var cut = line.startIndex
        var used = 0
        for index in line.indices {
            used += self.width(of: line[index])
            if used <= width - 3 { cut = line.index(after: index) }
            guard used <= width else { return String(line[..<cut]) + "..." }
        }
        return line
    }

    /// Returns a line without the spaces at its end.
    static func trimmed(_ line: String) -> String {
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
