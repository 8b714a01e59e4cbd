import Platform
package import ClarityScheduler

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

extension Zone {
    /// Returns the instant in RFC 3339 with the offset of this zone, such as
    /// `2026-11-20T06:00:00+01:00`.
    ///
    /// The offset includes seconds if it has any, as local times of the 19th century do.
    package func text(_ instant: Instant) -> String {
        let offset = offset(at: instant)
        // Formats the local time as if it were UTC, then drops the `Z`.
        let local = (instant + offset).description.dropLast()
        let seconds = offset.components.seconds
        let parts = [seconds.magnitude / 3600, seconds.magnitude / 60 % 60, seconds.magnitude % 60]
        let shown = parts[2] == 0 ? parts.prefix(2) : parts[...]
        return local + (seconds < 0 ? "-" : "+")
            + shown.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}

/// Shows instants to a person: near ones by their distance, others by the clock of a zone.
package struct NearTimes: Sendable {
    package var zone: Zone
    package var now: Instant
    /// Whether instants are replaced by whole ones with the zone's offset, for output that is kept
    /// and read later.
    package var isWhole: Bool

    package init(zone: Zone, now: Instant, isWhole: Bool = false) {
        (self.zone, self.now, self.isWhole) = (zone, now, isWhole)
    }

    /// Uses the zone of this name, else this machine's, else UTC.
    package init(zoneNamed name: String?, environment: [String: String], now: Instant) {
        let zones = SystemZones(environment: environment)
        let names = [name, LocalZone.identifier(environment: environment)].compactMap(\.self)
        self.init(zone: names.lazy.compactMap(zones.zone(named:)).first ?? .utc, now: now)
    }

    /// Returns text such as `in 20 s`, `in 38 min`, `just now`, `12 min ago`, `today 20:23`,
    /// `yesterday 06:00` or `2026-11-20 06:00`.
    package func text(_ instant: Instant) -> String {
        let distance = (instant - now).milliseconds
        let minutes = distance / 60_000
        switch minutes {
        case 0 where distance >= 1000: return "in \(distance / 1000) s"
        case 0: return "just now"
        case 1..<60: return "in \(minutes) min"
        case -59 ... -1: return "\(-minutes) min ago"
        default: break
        }
        return clock(instant)
    }

    /// Returns the time by the clock, such as `today 20:23`.
    private func clock(_ instant: Instant) -> String {
        let local = zone.text(instant)
        let (date, time) = (local.prefix(10), local.dropFirst(11).prefix(5))
        let days = [("today", 0), ("tomorrow", 1), ("yesterday", -1)]
        let near = days.first { zone.text(now + .seconds($0.1 * 86_400)).prefix(10) == date }
        return "\(near?.0 ?? String(date)) \(time)"
    }
    /// Returns a line with each of its instants in UTC as a person says it.
    ///
    /// After a word such as `since`, that is always the time by the clock; `at` goes. Instants in
    /// quotes stay: they are part of a command or of data.
    package func replaced(in line: String) -> String {
        // A regular expression for each cell of a table takes longer than all the rest of a command.
        guard line.utf8.contains(UInt8(ascii: "Z")), !isWhole || !zone.identifier.hasSuffix("UTC")
        else { return line }
        if isWhole, let instant = Instant(rfc3339: line), line.hasSuffix("Z") {
            let local = zone.text(instant)
            return local.hasSuffix("+00:00") ? line : local
        }
        let pattern = /(?:\b(?<word>[a-z]+) )?(?<instant>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/
        return line.replacing(pattern) { match in
            let before = line[..<match.range.lowerBound]
            guard before.count(where: { $0 == "`" }).isMultiple(of: 2), before.last != "\"",
                let instant = Instant(rfc3339: String(match.output.instant))
            else { return String(match.output.0) }
            if isWhole {
                let local = zone.text(instant)
                return (match.output.word.map { "\($0) " } ?? "")
                    + (local.hasSuffix("+00:00") ? String(match.output.instant) : local)
            }
            guard let word = match.output.word else { return text(instant) }
            if word == "at" { return text(instant) }
            return "\(word) \(NearTimes.clockWords.contains(word) ? clock(instant) : text(instant))"
        }
    }

    /// The words after which `in 38 min` would not be English.
    private static let clockWords: Set<Substring> = [
        "and", "before", "between", "by", "for", "from", "of", "since", "to", "until",
    ]
}

/// Describes the age of the data that is shown.
enum AsOf {
    /// The age from which data counts as stale: 24 hours.
    static let staleAge = Duration.seconds(24 * 3600)

    /// Returns the age of an instant, such as `3 h ago`: minutes below two hours, hours below two
    /// days, else days, rounded down.
    ///
    /// An instant that lies ahead, as after the clock was set back, is returned as it is, such as
    /// `at 2026-11-21T06:00:00Z`.
    static func age(of instant: Instant, at now: Instant) -> String {
        let seconds = (now - instant).components.seconds
        switch seconds {
        case ..<(-60): return "at \(instant)"
        case ..<60: return "just now"
        case ..<7200: return "\(seconds / 60) min ago"
        case ..<172_800: return "\(seconds / 3600) h ago"
        default: return "\(seconds / 86_400) d ago"
        }
    }

    /// Returns `synced 3 h ago`, with `, stale` from an age of a day; for `nil` that nothing was.
    static func text(_ word: String, _ instant: Instant?, at now: Instant) -> String {
        guard let instant else { return never(word) }
        return "\(word) \(age(of: instant, at: now))" + (isStale(instant, at: now) ? ", stale" : "")
    }

    /// Returns `synced 3 h ago (2026-11-21T06:00:00Z)`.
    static func fullText(_ word: String, _ instant: Instant?, at now: Instant) -> String {
        guard let instant else { return never(word) }
        let text = text(word, instant, at: now)
        return text.hasSuffix(instant.description) ? text : "\(text) (\(instant))"
    }

    /// What was never synced may have been uploaded all the same.
    private static func never(_ word: String) -> String {
        word == "synced" ? "not fetched back yet" : "never \(word)"
    }

    static func isStale(_ instant: Instant?, at now: Instant) -> Bool {
        instant.map { now - $0 >= staleAge } ?? true
    }
}
