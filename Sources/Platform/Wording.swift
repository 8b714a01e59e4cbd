/// Returns a text from elsewhere for a message: in backticks, at most 60 characters, and cleaned as
/// by `printable`.
package func shown(_ text: String) -> String { "`\(printable(text))`" }

/// Returns at most `most` characters of a text, with control characters spelled out, so that it can
/// neither flood nor steer a terminal.
package func printable(_ text: String, atMost most: Int = 60) -> String {
    var result = ""
    for character in text.prefix(most) {
        for scalar in character.unicodeScalars.prefix(4) {
            if scalar.steersTerminal {
                result += "<\(codePoint(scalar))>"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
    }
    return result + (text.dropFirst(most).isEmpty ? "" : "...")
}

extension String {
    /// Returns the text with each of these scalars replaced.
    ///
    /// `replacing` takes a quote and a combining mark after it for one character, and does not find
    /// the quote. Shells and other readers of quotes do.
    package func replacing(scalars replaced: [Unicode.Scalar: String]) -> String {
        var result = ""
        for scalar in unicodeScalars {
            if let text = replaced[scalar] {
                result += text
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

/// Joins names for people: `a`, `b` or `c`, each in backticks.
package func listed(_ names: [String], _ joint: String) -> String {
    let quoted = names.map(shown)
    guard let last = quoted.last, quoted.count > 1 else { return quoted.joined() }
    return quoted.dropLast().joined(separator: ", ") + " \(joint) \(last)"
}

/// Returns the candidate that someone who typed `word` most likely meant.
///
/// The only candidate that starts with the word wins, if the word has at least 3 characters.
/// Otherwise counts the characters to insert, remove, replace or swap with a neighbour, ignoring
/// case. Accepts 1 of these edits in a word of 2 to 5 characters, and 2 in a longer one, or a third
/// of the length if that is more. The first of several equally near candidates wins. Returns `nil`
/// if none is near.
package func nearest(to word: String, among candidates: [String]) -> String? {
    let typed = Array(word.lowercased().unicodeScalars)
    guard typed.count <= 100 else { return nil }
    let longer = candidates.filter { $0.lowercased().unicodeScalars.starts(with: typed) }
    if typed.count > 2, longer.count == 1 { return longer[0] }
    let limit = typed.count > 5 ? max(2, typed.count / 3) : min(1, typed.count / 2)
    var best: (candidate: String, distance: Int)?
    for candidate in candidates {
        let other = Array(candidate.lowercased().unicodeScalars)
        guard abs(other.count - typed.count) <= limit else { continue }
        let distance = editDistance(typed, other)
        if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
    }
    return best?.candidate
}

/// Returns the end of a message about an unknown word: "; did you mean `retry`?", or nothing if no
/// candidate is near. `prefix` is written before the candidate, as the `--` of an option.
package func didYouMean(
    _ word: String, among candidates: [String], prefix: String = ""
) -> String {
    nearest(to: word, among: candidates).map { "; did you mean \(shown(prefix + $0))?" } ?? ""
}

/// Returns the restricted Damerau-Levenshtein distance: no substring is edited twice.
private func editDistance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...b.count)
    for i in a.indices {
        var row = [i + 1]
        row.reserveCapacity(b.count + 1)
        for j in b.indices {
            var least = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
            if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                least = min(least, beforeLast[j - 1] + 1)
            }
            row.append(least)
        }
        (beforeLast, last) = (last, row)
    }
    return last[b.count]
}

/// Returns the scalar as Unicode writes it: `U+0007`.
package func codePoint(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
}

// Text from elsewhere, such as a path, a name or a server's words, made safe to show.

extension Unicode.Scalar {
    /// Whether the character controls a terminal, changes the direction of text or separates lines.
    ///
    /// The joiners U+200C and U+200D do not count: they are parts of emoji and of words.
    public var steersTerminal: Bool {
        // Most text is ASCII, and a look at the tables of Unicode takes far longer.
        if value < 0x80 { return value < 0x20 || value == 0x7F }
        return switch properties.generalCategory {
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

    /// The text with a blank in place of each control character (category Cc of Unicode).
    public var withoutControls: String {
        func isControl(_ scalar: Unicode.Scalar) -> Bool {
            scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
        }
        guard unicodeScalars.contains(where: isControl) else { return self }
        var kept = UnicodeScalarView()
        for scalar in unicodeScalars { kept.append(isControl(scalar) ? " " : scalar) }
        return String(kept)
    }

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

    /// Returns the beginning of the text in at most `limit` bytes of UTF-8, cut between characters.
    public func prefix(bytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
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

extension String {
    /// The text with the account in each command of `clarity-jobs` that it shows, so that a person
    /// can type it as it is: `clarity-jobs --account anna auth login`.
    ///
    /// - Parameter account: the account that the text is about; without one, the text stays.
    public func namingAccount(_ account: String?) -> String {
        guard let account else { return self }
        let command = "`clarity-jobs "
        let parts = split(separator: command, omittingEmptySubsequences: false)
        return parts.dropFirst().reduce(parts.first.map(String.init) ?? "") { text, part in
            // A command that names an account keeps it, and some are of all accounts.
            let isNamed = part.hasPrefix("--account ") || part.hasPrefix("accounts ")
            return text + command + (isNamed ? "" : "--account \(account) ") + part
        }
    }
}
