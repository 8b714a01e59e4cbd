import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// Commands whose scheduler is killed, frozen, or asked to cancel them.
@Suite("A command and its scheduler", .timeLimit(.minutes(5)))
struct OrphanTests {
    /// Returns a playground with the job `work`, which runs a script in the playground's folder, the
    /// job `after`, which follows its success, and others.
    private func playground(_ script: String, jobs: String = "") async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            defaults: { max_parallel: 2 }
            jobs:
              - id: work
                kind: command
                schedule: { every: 1d }
                then: [after]
                timeout: 10m
                options: { folder: \(folder), command: [sh, -c, '\(script)'] }
              - id: after
                kind: command
                options: { folder: \(folder), command: [touch, after] }
            \(jobs)

            """
        }
    }

    private func wait(for name: String, _ playground: Playground) async throws {
        let path = "\(playground.folder.path)/\(name)"
        let start = ContinuousClock.now
        while access(path, F_OK) != 0 {
            try #require(ContinuousClock.now - start < .seconds(30), "no file `\(name)`")
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    private func state(_ playground: Playground, _ job: String = "work") async throws -> [String] {
        let run = try #require(try await playground.history(job).last)
        return [run.state]
            + (try await playground.attempts(of: run.run)).map { $0.result }
    }

    @Test func `what ended with success after its scheduler was killed is not run again`()
        async throws
    {
        let playground = try await playground(
            "trap \"exit 0\" TERM; echo begin >>begins; touch ready; while :; do sleep 0.01; done")
        let scheduler = try playground.start(["run", "--due"])
        try await wait(for: "ready", playground)

        scheduler.signal(SIGKILL)
        _ = await scheduler.finish()
        let next = try await playground.run("run", "--due")

        #expect(next.status == 0, "\(next.errors)")
        #expect(try await state(playground) == ["succeeded", "succeeded"])
        let begins = try TemporaryFolder.read("\(playground.folder.path)/begins")
        #expect(String(decoding: begins, as: UTF8.self) == "begin\n")
        #expect(access("\(playground.folder.path)/after", F_OK) == 0)
    }

    @Test func `a command that does not end keeps its own run and no other`() async throws {
        let playground = try await playground(
            "trap \"\" TERM; echo $$ >pid; touch ready; while :; do sleep 0.01; done",
            jobs: """
                  - id: other
                    kind: command
                    schedule: { every: 1d }
                    options: { folder: /, command: [sleep, 1000] }
                """)
        let scheduler = try playground.start(["run", "--due"])
        try await wait(for: "ready", playground)
        try await untilRuns("other", playground)

        scheduler.signal(SIGKILL)
        try await ProcessTable.waitForEnd(of: scheduler.processID)
        let next = try playground.start(["run", "--due"])
        try await untilRuns("other", playground, attempt: 2)
        let during = try await state(playground)
        let text = try TemporaryFolder.read("\(playground.folder.path)/pid")
        let command = try #require(Int32(String(decoding: text.dropLast(), as: UTF8.self)))
        let isAlive = ProcessTable.isAlive(command)
        kill(command, SIGKILL)
        next.signal(SIGTERM)
        _ = await next.finish()
        _ = await scheduler.finish()

        #expect(during == ["running", "running"])
        #expect(isAlive)
    }

    private func untilRuns(_ job: String, _ playground: Playground, attempt: Int = 1) async throws {
        let start = ContinuousClock.now
        while true {
            let run = try await playground.history(job).last
            if let run, run.state == "running", run.attempts == attempt { return }
            try #require(ContinuousClock.now - start < .seconds(30), "\(job) does not run")
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    @Test func `a frozen scheduler keeps its runs, and records their end when it comes back`()
        async throws
    {
        let playground = try await playground(
            "echo begin >>begins; touch ready; until [ -e go ]; do sleep 0.01; done")
        let slow = try playground.start(["run", "--due"])
        try await wait(for: "ready", playground)

        slow.signal(SIGSTOP)
        let other = try await playground.run("run", "--due")
        try playground.folder.write("go", [])
        slow.signal(SIGCONT)
        let result = await slow.finish()

        #expect(other.status == 0, "\(other.errors)")
        #expect(result.status == 0, "\(result.errors)")
        #expect(try await state(playground) == ["succeeded", "succeeded"])
        let begins = try TemporaryFolder.read("\(playground.folder.path)/begins")
        #expect(String(decoding: begins, as: UTF8.self) == "begin\n")
    }

    @Test(arguments: [["run", "work"], ["run", "--due"], ["loop"]])
    func `a cancelled run ends at once, whoever runs it`(words: [String]) async throws {
        let playground = try await playground("touch ready; exec sleep 1000")
        let scheduler = try playground.start(words)
        try await wait(for: "ready", playground)

        let asked = ContinuousClock.now
        let cancel = try await playground.run("cancel", "work")
        while try await playground.history("work").last?.state == "running" {
            try #require(ContinuousClock.now - asked < .seconds(5), "it still runs")
            try await Task.sleep(for: .milliseconds(20))
        }
        if words == ["loop"] { scheduler.signal(SIGTERM) }
        let result = await scheduler.finish()

        #expect(cancel.status == 0, "\(cancel.errors)")
        #expect(try await state(playground).first == "cancelled")
        #expect(access("\(playground.folder.path)/after", F_OK) != 0)
        #expect(words == ["loop"] || result.status != 143, "\(result.errors)")
    }
}
