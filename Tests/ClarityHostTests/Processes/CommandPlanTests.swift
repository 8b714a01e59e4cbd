import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import ClarityHost

@Suite("What a command job's options say") struct CommandPlanTests {
    @Test func `words and variables are taken apart, and the rest has its standard`() throws {
        let plan = try CommandPlan([
            "command": "sh\u{0}-c\u{0}\u{0}a\nb", "environment": "A=1\u{0}B=x=y\u{0}C=",
        ])

        #expect(plan.words == ["sh", "-c", "", "a\nb"])
        #expect(plan.variables == ["A": "1", "B": "x=y", "C": ""])
        #expect(plan.folder == "/" && plan.hasFolder && plan.outputLimit == 65_536)
    }

    @Test(arguments: [
        ([:], "option `command` names no program"),
        (["command": ""], "option `command` names no program"),
        (["command": "a", "environment": "A"], "option `environment` has an entry without `=`"),
        (
            ["command": "a", "output_limit": "many"],
            "option `output_limit` is not a number of bytes"
        ),
        (["command": "a", "output_limit": "0"], "option `output_limit` is not a number of bytes"),
    ])
    func `options that no job file would hand on are refused`(
        options: [String: String], reason: String
    ) {
        #expect(throws: Failure(.configuration, reason)) { try CommandPlan(options) }
    }

    @Test func `the job's own variables come over the given ones, and ours over both`() throws {
        let plan = try CommandPlan([
            "command": "a", "environment": "LANG=C\u{0}CLARITY_RUN=1",
        ])

        let environment = try plan.environment(
            over: ["LANG": "de", "HOME": "/root"], try ScriptWorker.order(),
            startedAt: Instant(secondsSince1970: 1_700_000_010))

        #expect(
            environment == [
                "LANG": "C", "HOME": "/root", "CLARITY_JOB": "com.clarity.refresh",
                "CLARITY_RUN": "7", "CLARITY_ATTEMPT": "2", "CLARITY_GENERATION": "11",
                "CLARITY_SCHEDULED_FOR": "2023-11-14T22:13:20Z",
                "CLARITY_DEADLINE": "2023-11-14T22:14:00Z",
            ])
    }

    @Test func `a folder that is none is told from one that is`() throws {
        let folder = try TemporaryFolder()

        #expect(try !CommandPlan(["command": "a", "folder": "\(folder.path)/none"]).hasFolder)
        #expect(try !CommandPlan(["command": "a", "folder": "/etc/passwd"]).hasFolder)
        #expect(try CommandPlan(["command": "a", "folder": folder.path]).hasFolder)
    }
}
