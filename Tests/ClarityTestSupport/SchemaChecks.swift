/// Returns the CHECK constraints of a statement that have no name or compare with `IN (...)`, for
/// which SQLite builds a b-tree with every row that is written. For a statement that creates an
/// index, also returns its `WHERE ... IN (...)`.
public func faultyChecks(in statement: String) -> [String] {
    let words = sqlWords(of: statement)
    var faults: [String] = []
    for (place, word) in words.enumerated() where word == "CHECK" {
        let name = place >= 2 && words[place - 2] == "CONSTRAINT" ? words[place - 1] : nil
        var depth = 0
        let condition = words[(place + 1)...].prefix { word in
            depth += word == "(" ? 1 : word == ")" ? -1 : 0
            return depth > 0
        }
        guard name == nil || condition.contains("IN") else { continue }
        faults.append("\(name ?? "no name"): \(condition.joined(separator: " "))")
    }
    if words.prefix(3).contains("INDEX"), words.contains("IN") {
        faults.append(words.joined(separator: " "))
    }
    return faults
}

/// Returns the words and parentheses of a statement, without comments and quoted text.
private func sqlWords(of statement: String) -> [String] {
    let lines = statement.split(separator: "\n").map { line in
        line.firstRange(of: "--").map { line[..<$0.lowerBound] } ?? line
    }
    // Every second part is inside quotes.
    let parts = lines.joined(separator: "\n").split(
        separator: "'", omittingEmptySubsequences: false)
    var words: [String] = []
    var word = ""
    for (place, part) in parts.enumerated() where place % 2 == 0 {
        for letter in part + " " {
            if letter.isLetter || letter == "_" || letter.isNumber {
                word.append(letter)
                continue
            }
            if !word.isEmpty { words.append(word) }
            if letter == "(" || letter == ")" { words.append(String(letter)) }
            word = ""
        }
    }
    return words
}
