import Testing

@Suite("Attempts that broke by themselves")
struct OwnFaultTests {
    @Test(arguments: [
        ("run 3: its worker was ended by signal 6", true),
        ("upload: to be tried again: its worker was ended by signal 11 (run 3)", true),
        ("run 3: its worker exited with status 1 and reported no outcome", true),
        ("run 3: its worker wrote something that is no report: it is no JSON", true),
        ("run 3: its worker was ended by signal 9", false),
        ("upload: to be tried again: its worker was ended by signal 9 (run 3)", false),
        ("run 3: the connection to the backend broke off", false),
    ])
    func `are known by what is said of them, kills of ours apart`(line: String, isOne: Bool) {
        #expect(OwnFault.isTold(in: line) == isOne)
    }
}
