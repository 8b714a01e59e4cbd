import ClarityTestSupport
import Testing

@testable import clarity_jobs

@Suite("A word for a shell", .timeLimit(.minutes(1)))
struct ShellQuotedTests {
    @Test func `a shell reads each word back as it was`() async throws {
        // `'` and a combining accent are one character.
        let words = [
            "", "plain-_./:=,@+%", "it's", "'", "it'\u{301}s", "'\u{301}; echo no; #",
            "$HOME `id` \\ \"",
            "*?[a]~", "two\nlines", "%\u{20DD}$\u{20DD}",
        ]

        for word in words {
            let result = try await ChildProgram.run(
                "/bin/sh", ["-c", "printf '<%s>' \(shellQuoted(word)) end"])

            #expect(
                Array(result.output.utf8) == Array("<\(word)><end>".utf8) && result.errors == "",
                "\(word.debugDescription): \(result)")
        }
    }
}
