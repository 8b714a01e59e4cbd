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
}
