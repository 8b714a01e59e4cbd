/// Damages texts at random, as a bad transmission or an attacker would.
struct Mutation<Generator: RandomNumberGenerator> {
    private var generator: Generator
    /// Pieces that mean something to the readers of the texts.
    private let words: [[UInt8]]

    init(_ generator: Generator, words: [[UInt8]]) {
        self.generator = generator
        self.words =
            words
            + ["\0", "\u{1B}[2J", "\u{202E}", "\r\n", "9223372036854775808", "-0"]
            .map { Array($0.utf8) } + [[0xFF], [0xC3], [0xED, 0xA0, 0x80]]
    }

    /// Returns the text with one to four changes, which may insert parts of `other`.
    mutating func damaged(_ text: [UInt8], with other: [UInt8]) -> [UInt8] {
        var text = text
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            let place = Int.random(in: 0...text.count, using: &generator)
            let end = min(text.count, place + Int.random(in: 0...32, using: &generator))
            switch Int.random(in: 0..<7, using: &generator) {
            case 0: text.insert(contentsOf: words.randomElement(using: &generator) ?? [], at: place)
            case 1:
                text.replaceSubrange(
                    place..<end, with: words.randomElement(using: &generator) ?? [])
            case 2: text.removeSubrange(place..<end)
            case 3: text.insert(contentsOf: text[place..<end], at: place)
            case 4:
                let start = Int.random(in: 0...other.count, using: &generator)
                let length = Int.random(in: 0...64, using: &generator)
                text.insert(contentsOf: other[start...].prefix(length), at: place)
            case 5: text.removeSubrange(place...)
            default:
                guard place < text.count else { continue }
                text[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            }
        }
        return text
    }
}
