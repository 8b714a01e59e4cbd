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
            note.isEmpty
                ? #"\0"# : note.replacing(#"\"#, with: #"\\"#).replacing("\n", with: #"\n"#)
        }.joined(separator: "\n")
    }

    static func notes(_ text: String) -> [String] {
        guard text.utf8.contains(UInt8(ascii: "\\")) else {
            return text.split(separator: "\n").map(String.init)
        }
        return text.split(separator: "\n").map { line in
            var note: [UInt8] = []
            var isEscaped = false
            for byte in line.utf8 {
                switch (isEscaped, byte) {
                case (true, UInt8(ascii: "n")): note.append(0x0A)
                case (true, UInt8(ascii: "0")): break
                case (false, UInt8(ascii: "\\")):
                    isEscaped = true
                    continue
                default: note.append(byte)
                }
                isEscaped = false
            }
            return String(decoding: note, as: UTF8.self)
        }
    }
}
