import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// Jobs that start when the machine does, through the built programs.
@Suite("@reboot and on: [boot]", .timeLimit(.minutes(10)))
struct BootProgramTests {
    /// Returns a playground with one job for each way to name a boot, and one job that is due every
    /// second. The first two record their names.
    private func playground() async throws -> Playground {
        try await Playground(sandboxOptions: nil) { url, folder in
            func job(_ name: String, _ trigger: String) -> String {
                "{ id: \(name), kind: command, \(trigger), "
                    + "options: { command: [sh, -c, 'echo \(name) >> \(folder)/starts'] } }"
            }
            return """
                version: 1
                backend: { url: "\(url)" }
                jobs:
                  - \(job("cron", "schedule: { cron: '@reboot' }"))
                  - \(job("event", "on: [boot]"))
                  - { id: ticker, kind: command, schedule: { every: 1s }, options: { command: [echo] } }

                """
        }
    }

    /// Returns the sorted names, each as often as its job has started.
    private func starts(_ playground: Playground) throws -> [String] {
        let path = "\(playground.folder.path)/starts"
        guard access(path, F_OK) == 0 else { return [] }
        return String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
            .split(separator: "\n").map(String.init).sorted()
    }

    /// Makes the history believe that the machine has rebooted since.
    private func reboot(_ playground: Playground) throws {
        try playground.change("UPDATE boot_mark SET boot = 'an earlier one'")
    }

    @Test func `only the first scheduler after a boot starts the boot jobs`() async throws {
        let playground = try await playground()

        let first = try await playground.run("run", "--due")
        let afterFirst = try starts(playground)
        let second = try await playground.run("run", "--due")
        let loop = try playground.start(["loop"])
        _ = try #require(await loop.readErrorLine())
        // When the loop reports a run, it has decided about everything that was there.
        let tick = try #require(await loop.readErrorLine())
        loop.signal(SIGTERM)
        let end = await loop.finish()
        let afterLoop = try starts(playground)
        let trigger = try await playground.lastRun(of: "cron")["trigger"]

        #expect(first.status == 0 && first.errors == "", "\(first.errors)")
        #expect(afterFirst == ["cron", "event"])
        #expect(second.status == 0 && second.errors == "", "\(second.errors)")
        #expect(tick.hasPrefix("ticker: succeeded"))
        #expect(end.status == 143)
        #expect(afterLoop == afterFirst)
        #expect(trigger == .string("event"))
    }

    @Test func `after another boot, a loop starts the boot jobs again, once`() async throws {
        let playground = try await playground()
        _ = try await playground.run("run", "--due")
        try reboot(playground)

        let loop = try playground.start(["loop"])
        var lines: [String] = []
        while !(lines.contains { $0.hasPrefix("cron: ") }
            && lines.contains { $0.hasPrefix("event: ") })
        {
            lines.append(try #require(await loop.readErrorLine(), "\(lines)"))
        }
        loop.signal(SIGTERM)
        _ = await loop.finish()
        let after = try await playground.run("run", "--due")

        #expect(after.status == 0, "\(after.errors)")
        #expect(try starts(playground) == ["cron", "cron", "event", "event"])
    }

    @Test func `of several schedulers at the same time, one starts the boot jobs`() async throws {
        let playground = try await playground()

        let crowd = try (0..<8).map { _ in try playground.start(["run", "--due"]) }
        var statuses: [Int32] = []
        for program in crowd { statuses.append(await program.finish().status) }

        #expect(statuses.allSatisfy { [0, 75].contains($0) }, "\(statuses)")
        #expect(try starts(playground) == ["cron", "event"])
    }

    @Test func `a run by hand, a pause and a query leave the boot jobs to a scheduler`()
        async throws
    {
        let playground = try await playground()

        let byHand = try await playground.run("run", "ticker")
        let pause = try await playground.run("pause", "ticker")
        let list = try await playground.run("list")
        let before = try starts(playground)
        let due = try await playground.run("run", "--due")

        #expect([byHand, pause, list, due].map(\.status) == [0, 0, 0, 0])
        #expect(before == [])
        #expect(try starts(playground) == ["cron", "event"])
    }

    /// Kills before or after each of the scheduler's commits.
    @Test func `a killed scheduler neither loses the boot jobs nor starts them twice`()
        async throws
    {
        for when in Faultline.When.allCases {
            var nth = 1
            var hasStruck = true
            while hasStruck {
                let playground = try await playground()
                let faults = Faultline(counts: "\(playground.folder.path)/counts")
                let rule = Faultline.Rule(
                    program: .scheduler, point: .commit, when: when, nth: nth, action: "kill")

                _ = try await playground.run(
                    "run", "--due", environment: faults.environment(rules: [rule]))
                hasStruck = try faults.struck() > 0
                // The next process may have to wait until the killed ones are gone.
                var next = try await playground.run("run", "--due")
                for _ in 0..<5 where next.status == 75 {
                    next = try await playground.run("run", "--due")
                }

                for job in ["cron", "event"] {
                    let runs = try await playground.history(job)
                    #expect(runs.map(\.state) == ["succeeded"], "\(rule), \(job)")
                }
                nth += 1
            }
            #expect(nth > 5, "only \(nth - 1) commits")
        }
    }
}
