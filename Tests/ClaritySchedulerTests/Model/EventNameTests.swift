import ClarityScheduler
import Testing

@Suite("Names of events")
struct EventNameTests {
    @Test(arguments: [
        ("upload-completed", true), ("a", true), ("2nd-3", true), ("", false), ("Upload", false),
        ("a b", false), ("a_b", false), ("ä", false), ("a\n", false),
        (String(repeating: "a", count: 64), true), (String(repeating: "a", count: 65), false),
    ])
    func `a name is 1 to 64 lowercase letters, digits and dashes`(text: String, isName: Bool) {
        #expect((EventName(rawValue: text) != nil) == isName)
    }

    @Test func `the engine notices four itself`() {
        #expect(
            EventName.ofTheEngine.map(\.rawValue) == [
                "source-changed", "network-restored", "boot", "clock-changed",
            ])
    }
}
