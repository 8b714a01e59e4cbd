import Testing

@testable import clarity_jobs

@Suite("Completion")
struct CompletionTests {
    @Test(arguments: [
        (["re"], ["receive", "resume", "retry", "records", "report", "restore"]),
        (["an"], ["analyses"]),
        (["--config", "a.yaml", "outb"], ["outbox"]),
        (["outbox", "l"], ["list"]),
        (["outbox", "list", "--in"], ["--in-state"]),
        (["outbox", "list", "--in-state", "se"], ["sending", "set-aside"]),
        (["outbox", "list", "--in-state=st"], ["--in-state=stored"]),
        (["list", "-o", "n"], ["ndjson"]),
        (["list", "-qo", "n"], ["ndjson"]),
        (["metrics", "-o", "c"], ["csv"]),
        (["list", "--output", "=", "n"], ["ndjson"]),
        (["list", "--output", "="], ["table", "json", "ndjson"]),
        (["run", "--", "--d"], []),
        (["sandbox", "--l"], []),
    ])
    func `a word is completed by what the declarations allow there`(
        words: [String], candidates: [String]
    ) {
        let completion = Completion(words, of: .program)

        #expect(completion.expectation.candidates.map(\.word) == candidates)
    }

    @Test(arguments: [
        (["run", ""], ["JOB"]), (["run", "a", ""], ["JOB"]), (["cancel", ""], ["RUN", "JOB"]),
        (["import", "ex"], ["FILE"]), (["history", "show", ""], ["RUN", "JOB"]),
        (["-c", ""], ["FILE"]),
        (["--state="], ["DIR"]), (["status", ""], ["JOB"]), (["run", "--due", "--f"], []),
        (["history", "-n", ""], ["N"]),
    ])
    func `a value is completed by its name`(words: [String], values: [String]) {
        #expect(Completion(words, of: .program).expectation.values == values)
    }

    @Test func `the options before the word count`() {
        let completion = Completion(
            ["-c", "a.yaml", "--state=b", "run", "x", ""], of: .program)

        #expect(completion.arguments.path == ["run"] && completion.arguments.operands == ["x"])
        #expect(completion.arguments["config"] == "a.yaml")
        #expect(completion.arguments["state"] == "b")
    }

    @Test func `a command's own options come first`() {
        let words = Completion(["run", "-"], of: .program).expectation.candidates.map(\.word)

        #expect(words.prefix(3) == ["--due", "--force", "--ask"])
    }
}
