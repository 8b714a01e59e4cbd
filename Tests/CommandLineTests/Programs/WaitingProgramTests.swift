import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("Jobs that wait for a login or a source file", .timeLimit(.minutes(5)))
struct WaitingProgramTests {
    private static let advice = "waits for a login; run `clarity-jobs auth login`"

    private func playground(_ options: [String] = []) async throws -> Playground {
        try await Playground(sandboxOptions: options) { url, folder in
            """
            version: 1
            backend: { url: "\(url)", retry_wait: 1ms }
            sources: [{ kind: apple-health-export, path: \(folder)/Health/export.xml }]
            defaults: { retry: { attempts: 1, initial: 10s } }
            jobs:
              - { id: insights, kind: insight-history, schedule: { every: 12h } }
              - { id: upload, kind: bulk-upload, schedule: { every: 12h } }

            """
        }
    }

    private func startLoop(_ playground: Playground, until subject: String) async throws
        -> ChildProgram
    {
        let loop = try playground.start(["loop"])
        _ = try #require(await loop.readErrorLine())
        while try await playground.json("history").elements.allSatisfy({
            !$0["waiting_on"].elements.contains { $0["subject"] == .string(subject) }
        }) {}
        return loop
    }

    /// Returns the line about the end of a job's run.
    private func end(of job: String, _ loop: ChildProgram) async throws -> String {
        while true {
            let line = try #require(await loop.readErrorLine())
            if line.hasPrefix("\(job): ") { return line }
        }
    }

    @Test func `before the first login, a job waits for one, says so, and starts after it`()
        async throws
    {
        let playground = try await playground()

        let run = try await playground.run("run", "insights")
        let again = try await playground.run("run", "insights")
        let waiting = try await playground.lastRun(of: "insights")
        let explain = try await playground.run("explain", "insights")
        try await playground.logIn()
        let after = try await playground.run("run", "insights")

        #expect(run.status == 75, "\(run.errors)")
        #expect(run.errors.contains(Self.advice), "\(run.errors)")
        #expect(again.status == 75)
        #expect(
            again.errors.contains(
                "waits for a login: nobody is logged in (run `clarity-jobs auth login`"),
            "\(again.errors)")
        #expect(waiting["state"] == .string("enqueued") && waiting["attempts"] == .number(1))
        #expect(explain.outputLines.contains("to start: run `clarity-jobs auth login`"))
        #expect(after.status == 0, "\(after.errors)")
    }

    @Test func `a loop starts the jobs that wait for a login after the login`() async throws {
        let playground = try await playground()
        let loop = try await startLoop(playground, until: "login")
        #expect(try await end(of: "insights", loop).contains(Self.advice))

        try await playground.logIn()
        // By itself the loop checks again only after a quarter of an hour.
        let line = try await end(of: "insights", loop)
        loop.signal(SIGTERM)

        #expect(line.hasPrefix("insights: succeeded"), "\(line)")
        _ = await loop.finish()
    }

    @Test func `when the backend has ended a session, jobs wait for a login`() async throws {
        let playground = try await playground()
        try await playground.logIn()
        try await playground.sandbox?.expireAllTokens()

        let run = try await playground.run("run", "insights")
        let due = try await playground.run("run", "--due")
        let waiting = try await playground.lastRun(of: "insights")
        try await playground.logIn()
        let after = try await playground.run("run", "insights")

        #expect(run.status == 75, "\(run.errors)")
        #expect(
            run.errors.contains("the session has ended; run `clarity-jobs auth login`"),
            "\(run.errors)")
        #expect(due.status == 75 && waiting["attempts"] == .number(1))
        #expect(after.status == 0, "\(after.errors)")
    }

    @Test func `run --due reports an ended session in one line, once`() async throws {
        let playground = try await Playground()
        try await playground.logIn()
        try await playground.sandbox?.expireAllTokens()

        let first = try await playground.run("run", "--due")
        let second = try await playground.run("run", "--due")

        #expect([first.status, second.status] == [75, 75])
        let lines = first.errorLines.filter { $0.contains("auth login") }
        #expect(lines.count == 1, "\(first.errors)")
        #expect(second.output == "" && second.errors == "")
    }

    @Test func `an upload waits for a source file that is not there yet`() async throws {
        let playground = try await playground()
        try await playground.logIn()
        let path = "\(playground.folder.path)/Health/export.xml"

        let run = try await playground.run("run", "upload")
        let again = try await playground.run("run", "upload")
        let waiting = try await playground.lastRun(of: "upload")
        let loop = try await startLoop(playground, until: "source")
        // The folder did not exist either, so nothing could watch the file.
        #expect(mkdir("\(playground.folder.path)/Health", 0o700) == 0)
        try playground.writeExport(heartRates: 3)
        #expect(rename("\(playground.folder.path)/export.xml", path) == 0)
        let after = try await playground.run("run", "upload")
        // The loop checks every minute, and may have started the run first.
        while try await playground.lastRun(of: "upload")["state"] != .string("succeeded") {}
        loop.signal(SIGTERM)
        _ = await loop.finish()

        #expect(run.status == 75, "\(run.errors)")
        #expect(run.errors.contains("waits for a source: no file or folder `\(path)`"))
        #expect(again.status == 75)
        #expect(
            again.errors.contains("for its source file, which is missing (\(path)"),
            "\(again.errors)")
        #expect(waiting["state"] == .string("enqueued") && waiting["attempts"] == .number(1))
        #expect(
            after.status == 0 || after.errors.contains("not started: run 1 is running"),
            "\(after.errors)")
        #expect(try await playground.sandbox?.count("metrics") == 3)
    }

    @Test func `a loop uploads a source file as soon as it is there`() async throws {
        let playground = try await playground()
        #expect(mkdir("\(playground.folder.path)/Health", 0o700) == 0)
        try await playground.logIn()
        let loop = try await startLoop(playground, until: "source")
        #expect(try await end(of: "upload", loop).contains("waits for a source"))

        try playground.writeExport(heartRates: 3)
        let folder = playground.folder.path
        #expect(rename("\(folder)/export.xml", "\(folder)/Health/export.xml") == 0)
        let line = try await end(of: "upload", loop)
        loop.signal(SIGTERM)
        _ = await loop.finish()

        #expect(line.hasPrefix("upload: succeeded"), "\(line)")
        #expect(try await playground.sandbox?.count("metrics") == 3)
    }
}
