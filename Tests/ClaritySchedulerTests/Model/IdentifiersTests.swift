import ClarityScheduler
import Testing

struct IdentifiersTests {
    @Test(arguments: [
        "a", "Z", "7", "com.clarity.refresh", "nightly-sync_2", "0..--__",
        String(repeating: "x", count: 100),
    ])
    func `letters, digits, dots, hyphens and underscores make a job's id`(text: String) {
        #expect(JobID(text)?.rawValue == text)
        #expect(JobID(text)?.description == text)
    }

    @Test(arguments: [
        "", ".a", "-a", "_a", "a b", "a/b", "a\n", "é", "aé", "a\u{301}", "a\0", "a\r\n",
        String(repeating: "x", count: 101),
    ])
    func `a text that breaks the rule is no job's id`(text: String) {
        #expect(JobID(text) == nil)
    }

    @Test func `runs are ordered by number and kinds by name`() {
        #expect([RunID(10), RunID(9), RunID(-1)].sorted() == [RunID(-1), RunID(9), RunID(10)])
        #expect(JobKind("cleanup") < JobKind("refresh"))
    }
}
