import ClarityTestSupport
import Foundation
import Glibc
@testable import ProgramTestSupport
import Testing

/// One account's id, planted and looked for in everything that somebody else gets to see: another
/// wearer, the reader of the metrics, and the receiver of notices.
@Suite("Nobody sees the id of another's account", .timeLimit(.minutes(5)))
struct OtherAccountsProgramTests {
    private let family = AccountsProgramTests()
    private let planted = "zebra"

    /// A job file with two accounts and one slot, and jobs that hold the slot, fail and tell.
    private func playground() async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            defaults: { max_parallel: 1 }
            metrics_textfile: "\(folder)/metrics.prom"
            accounts: accounts.d
            notify:
              - { kind: command, command: [sh, -c, 'cat >> \(folder)/told'] }
            jobs:
              - id: hold
                kind: command
                options: { command: [sh, -c, 'echo held > \(folder)/held; cat \(folder)/gate'] }
              - { id: say, kind: command, schedule: { every: 1h }, retry: { attempts: 1 }, options: { command: [sh, -c, 'echo a line; exit 3'] } }

            """
        }
        try #require(mkdir("\(playground.folder.path)/accounts.d", 0o755) == 0)
        for id in ["ben", "zebra-anna"] {
            try playground.folder.write("accounts.d/\(id).yaml", Array("enabled: true\n".utf8))
        }
        return playground
    }

    private func run(_ playground: Playground, _ words: [String]) async throws -> ProgramResult {
        try await playground.start(words, environment: ["CLARITY_JOBS_KEY": family.key]).finish()
    }

    @Test func `a wearer's commands name no other account`() async throws {
        let playground = try await playground()
        try #require(mkfifo("\(playground.folder.path)/gate", 0o600) == 0)
        // The only slot is held while ben's job wants it.
        let holder = try playground.start(
            ["run", "zebra-anna/hold"], environment: ["CLARITY_JOBS_KEY": family.key])
        while !family.exists("held", playground) { try await Task.sleep(for: .milliseconds(10)) }
        let waits = try await run(playground, ["--account", "ben", "run", "say"])
        let held = try await run(playground, ["--account", "ben", "explain", "say"])
        let commands = [
            ["explain", "say"], ["history"], ["history", "show", "2"], ["history", "show", "1"],
            ["history", "missed"], ["list"], ["next"], ["status"], ["doctor"], ["audit"],
            ["notices", "list"], ["outbox"], ["sources"], ["retry", "1"], ["cancel", "1"],
            ["run", "sey"], ["explain", "sey"], ["history", "sey"], ["auth", "status"],
            ["audit", "log"], ["metrics"], ["records"], ["summary"], ["insights"], ["analyses"],
            ["profile"], ["backup", "list"], ["key", "status"], ["dry-run", "say"], ["validate"],
        ]
        var outputs = ["run": waits, "explain while it waits": held]
        for words in commands {
            for form in ["table", "json"] {
                outputs["\(words) \(form)"] = try await run(
                    playground, ["--account", "ben", "-o", form] + words)
            }
        }
        let gate = open("\(playground.folder.path)/gate", O_WRONLY | O_CLOEXEC)
        close(gate)
        _ = await holder.finish()
        for words in commands {
            outputs["\(words) afterwards"] = try await run(
                playground, ["--account", "ben"] + words)
        }

        #expect(held.output.contains("1 of other accounts"), "\(held.output)")
        let own = try await run(playground, ["history", "show", "1"])
        #expect(own.output.hasPrefix("run 1 of zebra-anna/hold"), "\(own.output)")
        for (words, result) in outputs {
            #expect(
                !result.output.contains(planted) && !result.errors.contains(planted),
                "\(words): \(result.output)\(result.errors)")
        }
    }

    @Test func `metrics add up a job of several accounts and name none`() async throws {
        let playground = try await playground()
        for id in ["ben", "zebra-anna"] { _ = try await run(playground, ["run", "\(id)/say"]) }
        _ = try await run(playground, ["run", "--due"])
        let exporter = try playground.start(["exporter", "--listen", "127.0.0.1:0"])
        let ready = try #require(await exporter.readErrorLine())
        let start = try #require(ready.firstRange(of: "http://127.0.0.1:")).upperBound
        let port = try #require(UInt16(ready[start...].prefix { $0.isNumber }))

        let text = try await LoopbackRequest.send("GET", "/metrics", port: port)
        let file = try String(
            contentsOfFile: "\(playground.folder.path)/metrics.prom", encoding: .utf8)

        for metrics in [text, file] {
            #expect(!metrics.contains(planted) && !metrics.contains("ben"), "\(metrics)")
            let failed = #"clarity_jobs_runs_total{job_id="say",result="failed"} "#
            let count = metrics.split(separator: "\n").filter { $0.hasPrefix(failed) }
            #expect(count.count == 1)
            #expect(Int(count.first?.split(separator: " ").last ?? "") ?? 0 >= 2, "\(count)")
        }
    }

    @Test func `a wearer cannot name the run of another account by its job`() async throws {
        let playground = try await playground()
        try #require(try await run(playground, ["run", "zebra-anna/say"]).status == 1)

        for command in [["logs"], ["history", "show"], ["history"], ["retry"]] {
            let asked = try await run(
                playground, ["--account", "ben"] + command + ["zebra-anna/say"])

            #expect(asked.status == 64 && asked.output == "", "\(command): \(asked)")
            #expect(!asked.errors.contains("a line"), "\(command): \(asked)")
        }
    }

    @Test func `a notice names the run and no account`() async throws {
        let playground = try await playground()

        let failed = try await run(playground, ["run", "zebra-anna/say"])
        let told = try await run(playground, ["run", "zebra-anna/notify"])
        let message = try String(
            contentsOfFile: "\(playground.folder.path)/told", encoding: .utf8)

        #expect(failed.status == 1 && told.status == 0, "\(told.errors)")
        #expect(message.contains("job `say` failed: exited with status "), "\(message)")
        #expect(!message.contains(planted), "\(message)")
    }
}
