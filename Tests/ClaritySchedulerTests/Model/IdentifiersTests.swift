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
        "", ".a", "-a", "_a", "a b", "a\n", "é", "aé", "a\u{301}", "a\0", "a\r\n",
        String(repeating: "x", count: 101),
    ])
    func `a text that breaks the rule is no job's id`(text: String) {
        #expect(JobID(text) == nil)
        #expect(JobID(declared: text) == nil)
    }

    @Test(arguments: ["a/b", "/b", "a/", "a/b/c", "A/b", "a.b/c", "a/.b"])
    func `the job file declares no id with an account`(text: String) {
        #expect(JobID(declared: text) == nil)
    }

    @Test func `a job's id may begin with an account`() throws {
        let id = try #require(JobID("anna_1-x/com.clarity.Refresh"))
        #expect(id.account == AccountID("anna_1-x"))
        #expect(id.declared == JobID("com.clarity.Refresh"))
        #expect(JobID(AccountID("anna_1-x"), id.declared) == id)
        #expect(JobID(nil, id.declared) == id.declared)
        #expect(id.declared.account == nil)
        #expect(id.declared.declared == id.declared)
    }

    @Test(arguments: ["/b", "a/", "a/b/c", "A/b", "a.b/c", "a/.b", "é/b", "-a/b", "a/-b"])
    func `a text with a wrong account or name is no job's id`(text: String) {
        #expect(JobID(text) == nil)
    }

    @Test(arguments: [
        "", "A", "a.b", "a/b", "a b", "é", "-", "-x", "--all", String(repeating: "x", count: 65),
    ])
    func `a text that breaks the rule is no account's id`(text: String) {
        #expect(AccountID(text) == nil)
    }

    @Test func `64 characters make an account's id`() {
        #expect(AccountID(String(repeating: "x", count: 64)) != nil)
        #expect(AccountID("_") != nil)
        #expect(AccountID("x-") != nil)
    }

    @Test func `runs are ordered by number and kinds by name`() {
        #expect([RunID(10), RunID(9), RunID(-1)].sorted() == [RunID(-1), RunID(9), RunID(10)])
        #expect(JobKind("cleanup") < JobKind("refresh"))
    }
}
