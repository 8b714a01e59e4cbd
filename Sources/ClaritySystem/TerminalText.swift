// Text from elsewhere, such as a path, a name or a server's words, made safe to show.

extension Unicode.Scalar {
    /// Whether the character controls a terminal, changes the direction of text or separates lines.
    ///
    /// The joiners U+200C and U+200D do not count: they are parts of emoji and of words.
    public var steersTerminal: Bool {
        switch properties.generalCategory {
        case .format: value != 0x200C && value != 0x200D
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

extension String {
    /// The text with U+FFFD in place of each character that controls a terminal, changes the
    /// direction of text or separates lines.
    public var printable: String { replacingSteering { _ in false } }

    /// The same, but with its line ends.
    public var printableLines: String { replacingSteering { $0 == "\n" } }

    /// The printable text in a form that an attempt's report can hold.
    ///
    /// It has at most 900 bytes, which remain below `AttemptReport.longestLine` if each is escaped.
    public var forReport: String { cut(toBytes: 900).printable }

    /// Returns the text, cut to `limit` bytes with `...` at its end if it is longer.
    public func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var cut = ""
        var size = 3
        for character in self {
            size += character.utf8.count
            if size > limit { break }
            cut.append(character)
        }
        return cut + "..."
    }

    private func replacingSteering(except isKept: (Unicode.Scalar) -> Bool) -> String {
        guard unicodeScalars.contains(where: { $0.steersTerminal && !isKept($0) }) else {
            return self
        }
        var shown = UnicodeScalarView()
        for scalar in unicodeScalars {
            shown.append(scalar.steersTerminal && !isKept(scalar) ? "\u{FFFD}" : scalar)
        }
        return String(shown)
    }
}
