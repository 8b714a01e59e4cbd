import ClarityScheduler

/// A tally as text, `name=count` joined by spaces; names contain neither a space nor `=`.
enum TallyText {
    static func text(_ tally: Tally) -> String {
        tally.names.map { "\($0)=\(tally[$0])" }.joined(separator: " ")
    }

    static func tally(_ text: String) -> Tally {
        var tally = Tally()
        for pair in text.split(separator: " ") {
            let parts = pair.split(separator: "=")
            guard parts.count == 2, let count = Int64(parts[1]) else { continue }
            tally[String(parts[0])] = count
        }
        return tally
    }
}

/// Notes as text, one per line. A line feed is written as `\n`, a backslash is doubled, and an
/// empty note is `\0`.
enum NotesText {
    static func text(_ notes: [String]) -> String {
        if notes.isEmpty { return "" }
        return notes.map { note in
            note.isEmpty ? #"\0"# : escapedLine(note)
        }.joined(separator: "\n")
    }

    static func notes(_ text: String) -> [String] {
        // By scalar: `\r\n` is one character.
        text.unicodeScalars.split(separator: "\n").map { line in
            line.elementsEqual(#"\0"#.unicodeScalars) ? "" : unescapedLine(line)
        }
    }
}
