import Testing

@Suite("Attempts that crashed by themselves")
struct OwnFaultTests {
    @Test(arguments: [
        ("run 3: its worker was ended by signal 6", true),
        ("upload: failed once, tries again: its worker was ended by signal 11 (run 3)", true),
        ("run 3: its worker exited with status 1 and reported no outcome", true),
        ("run 3: its worker wrote something that is no report: it is no JSON", true),
        ("run 3: its worker was ended by signal 9", false),
        ("upload: failed once, tries again: its worker was ended by signal 9 (run 3)", false),
        ("run 3: the connection to the backend broke off", false),
    ])
    func `the messages of a run tell crashes from kills by the test`(line: String, isOne: Bool) {
        #expect(OwnFault.isTold(in: line) == isOne)
    }
}
