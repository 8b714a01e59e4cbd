import ClarityTestSupport
import Testing

@Suite("Texts that others wrote", .timeLimit(.minutes(40)))
struct CorpusTests {
    /// Checks the properties without the fuzzer, on every stored text and on random mutations of
    /// it. What the fuzzer has found once is checked for good.
    @Test(arguments: FuzzTarget.all)
    func `the kept texts and what comes of them by lot keep the properties`(
        target: FuzzTarget
    ) async throws {
        let corpus = try Corpus(of: target.name)
        let plan = ChaosPlan.current
        try #require(corpus.texts.count > 0, "nothing is kept of \(target.name)")

        let broken = try await blocking {
            let check = try target.makeCheck()
            var broken: [String] = []
            var rounds = 0
            func hold(_ text: [UInt8], _ name: String) {
                rounds += 1
                do {
                    try text.withUnsafeBufferPointer(check)
                } catch {
                    broken.append("\(name): \(error): \(text.quoted)")
                }
            }
            for (name, text) in corpus.texts { hold(text, name) }
            var mutation = Mutation(
                plan.generator("replay-\(target.name)"), words: corpus.words)
            let others = corpus.texts.dropFirst() + corpus.texts.prefix(1)
            for ((name, text), (_, other)) in zip(corpus.texts, others) {
                for _ in 0..<plan.size(slice: 50, whole: 500) where broken.count < 8 {
                    hold(mutation.damaged(text, with: other), "by lot of \(name)")
                }
            }
            var line = ChaosLine("replay-\(target.name)", measures: [])
            line.rounds = rounds
            line.tell()
            return broken
        }

        #expect(broken == [])
    }

    @Test(arguments: FuzzTarget.all)
    func `of each target a few small texts are kept`(target: FuzzTarget) throws {
        let corpus = try Corpus(of: target.name)

        #expect(corpus.texts.count <= Corpus.mostFiles)
        #expect(corpus.texts.reduce(0) { $0 + $1.bytes.count } <= Corpus.mostBytes)
        #expect(!corpus.words.isEmpty)
    }

    @Test func `a property that does not hold is told with its text`() throws {
        let check = JobFileProperties.makeCheck()
        let sound = Array("version: 1\n".utf8)

        try sound.withUnsafeBufferPointer { try check($0) }
        #expect(throws: BrokenProperty.self) { try require(false, "anything") }
        #expect(throws: BrokenProperty.self) { try demandHarmless("a\u{9B}31m", "a name") }
        #expect(throws: BrokenProperty.self) { try demandHarmless("a\u{202E}b", "a name") }
        #expect([0x1B, 0x22, 0x41].quoted == "\"\\x1b\\x22A\"")
    }
}

extension FuzzTarget: CustomTestStringConvertible {
    var testDescription: String { name }
}

extension [UInt8] {
    /// The bytes in the notation of a libFuzzer dictionary.
    fileprivate var quoted: String {
        let text = map { byte in
            (0x20..<0x7F).contains(byte) && byte != 0x22 && byte != 0x5C
                ? String(Unicode.Scalar(byte))
                : "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return "\"\(text.joined())\""
    }
}
