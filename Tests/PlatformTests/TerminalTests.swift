import Testing

@testable import Platform

struct TerminalTests {
    @Test(arguments: [
        ("y", true), ("Y", true), ("yes", true), (" YES ", true), ("", false), ("n", false),
        ("yess", false), ("y y", false), ("\u{0}y", false),
    ])
    func `only y or yes agrees`(answer: String, isYes: Bool) {
        #expect(Terminal.isYes(Array(answer.utf8)) == isYes)
    }
}
