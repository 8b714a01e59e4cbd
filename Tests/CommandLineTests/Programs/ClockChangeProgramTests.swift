import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// A job that waits for the wall clock to be set, through the built programs.
@Suite("on: [clock-changed]", .timeLimit(.minutes(5)))
struct ClockChangeProgramTests {
    /// Sets the machine's clock to its current time, which the kernel announces like any other
    /// step.
    private static func setClock() -> Bool {
        var now = timespec()
        return clock_gettime(CLOCK_REALTIME, &now) == 0 && clock_settime(CLOCK_REALTIME, &now) == 0
    }

    @Test(.enabled(if: geteuid() == 0, "setting the clock takes root"))
    func `a loop starts a clock-changed job when the clock was set, and not before`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { url, _ in
            """
            version: 1
            backend: { url: "\(url)" }
            jobs:
              - { id: first, kind: command, schedule: { every: 1d }, options: { command: [echo] } }
              - { id: clock, kind: command, on: [clock-changed], options: { command: [echo] } }

            """
        }
        let loop = try playground.start(["loop"])
        let greeting = try #require(await loop.readErrorLine())
        let first = try #require(await loop.readErrorLine())
        let before = try await playground.json("history", "clock").elements

        let isSet = ClockChangeProgramTests.setClock()
        if isSet {
            let line = try #require(await loop.readErrorLine())
            #expect(line.hasPrefix("clock: succeeded"))
        }
        loop.signal(SIGTERM)
        let end = await loop.finish()

        try #require(isSet, "root may not set the clock here")
        #expect(greeting == "clarity-jobs: loop over 2 jobs")
        #expect(first.hasPrefix("first: succeeded"))
        #expect(before == [])
        #expect(end.status == 143)
        #expect(try await playground.lastRun(of: "clock")["trigger"] == .string("event"))
    }

    @Test func `each command that shows a next time says that the clock was set back`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil) { url, _ in
            """
            version: 1
            backend: { url: "\(url)" }
            jobs:
              - { id: tick, kind: command, schedule: { every: 1h }, options: { command: [echo] } }

            """
        }
        let due = try await playground.run("run", "--due")
        let anchor = try #require(
            try await playground.lastRun(of: "tick")["scheduled_for"].text.flatMap {
                Instant(rfc3339: $0)
            })
        let (was, next) = (
            Instant(secondsSince1970: anchor.secondsSince1970),
            Instant(secondsSince1970: anchor.secondsSince1970) + .seconds(3600)
        )
        let now = "\(anchor - .seconds(3600))"

        let explain = try await playground.run("explain", "tick", "--now", now)
        let status = try await playground.run("status", "--now", now)
        let list = try await playground.run("list", "--now", now)
        let coming = try await playground.run("next", "-n", "1", "--now", now)

        let said = "the clock was set back: the schedule goes on at \(was), where it had been"
        #expect(due.status == 0, "\(due.errors)")
        #expect(explain.outputLines.contains("next: \(next); \(said)"), "\(explain.output)")
        #expect(status.output.contains("is due \(next); \(said)"), "\(status.output)")
        #expect(list.output.contains("not due; \(said)"), "\(list.output)")
        #expect(coming.errorLines == ["tick: \(said)"])
        #expect(coming.output.contains("tick  "))
    }
}
