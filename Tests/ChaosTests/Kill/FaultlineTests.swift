import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// The library must strike where a rule says. Otherwise every test that uses it proves nothing.
@Suite("The fault library", .timeLimit(.minutes(5)))
struct FaultlineTests {
    /// A rule for `run upload`, and the status and the message with which the command ends.
    struct Case: CustomTestStringConvertible {
        var rule: String
        var status: Int32
        var words: String = ""

        var testDescription: String { rule }
    }

    @Test func `without rules it counts every point of an upload and changes nothing`()
        async throws
    {
        let (playground, faultline) = try await prepared()

        let upload = try await playground.run(
            "run", "upload", environment: faultline.environment(folder: playground.folder.path))

        #expect(upload.status == 0, "\(upload.errors)")
        #expect(try await playground.sandbox?.count("metrics") == 250)
        var missed: [String] = []
        for program in [Faultline.Program.scheduler, .worker] {
            let counts = try Faultline.Point.allCases.map {
                try faultline.count(of: $0, program: program)
            }
            #expect(counts.dropLast().reduce(0, +) == counts.last, "\(program): \(counts)")
            missed += zip(Faultline.Point.allCases, counts).filter { $1 == 0 }
                .map { "\(program.rawValue) \($0.0)" }
        }
        // The scheduler contacts no backend, a worker starts no process and renames no file, and an
        // address needs no name resolution.
        #expect(
            missed == [
                "clarity-jobs send", "clarity-jobs receive", "clarity-jobs connect",
                "clarity-jobs resolve", "clarity-jobs-worker rename",
                "clarity-jobs-worker resolve", "clarity-jobs-worker spawn",
            ])
    }

    @Test(arguments: [
        Case(rule: "clarity-jobs:commit:before:2:kill", status: 137),
        Case(rule: "clarity-jobs:start:before:1:kill", status: 137),
        Case(rule: "clarity-jobs-worker:commit:after:2:kill-parent", status: 137),
        Case(rule: "clarity-jobs-worker:send:before:2:kill-both", status: 137),
        Case(rule: "clarity-jobs:any:after:200:kill-both", status: 137),
        Case(
            rule: "clarity-jobs-worker:write:before:1+:ENOSPC", status: 74, words: "no space left"),
        Case(rule: "clarity-jobs:sync:before:1+:EIO", status: 74, words: "I/O error"),
        Case(rule: "clarity-jobs:commit:before:1+:ENOSPC", status: 74),
        Case(rule: "clarity-jobs:open:before:1+:EMFILE", status: 65, words: "too many open files"),
        Case(
            rule: "clarity-jobs:spawn:before:1+:ENOMEM", status: 75,
            words: "failed once, tries again at"),
        // Faults that are retried or do not matter, except a failed `unlink`.
        Case(rule: "clarity-jobs-worker:send:before:2:ECONNRESET", status: 0),
        Case(rule: "clarity-jobs-worker:receive:after:2:ECONNRESET", status: 0),
        Case(rule: "*:write:before:3:short", status: 0),
        Case(rule: "*:read:before:3:EINTR", status: 0),
        Case(rule: "*:unlink:after:1:EIO", status: 74, words: "I/O error"),
        Case(rule: "clarity-jobs-worker:connect:before:1:ECONNRESET", status: 0),
        Case(rule: "clarity-jobs-worker:send:before:2:kill", status: 0),
    ])
    func `a rule fails the calls that it names, and the next run completes`(row: Case) async throws
    {
        let (playground, faultline) = try await prepared()

        let upload = try await playground.run(
            "run", "upload",
            environment: faultline.environment(
                texts: [row.rule], folder: playground.folder.path))
        let struck = try faultline.struck()
        let again = try await playground.run("run", "upload", "--force")

        #expect(upload.status == row.status, "\(upload.output) \(upload.errors)")
        #expect((upload.output + upload.errors).contains(row.words), "\(upload.errors)")
        #expect(row.rule.contains("+") ? struck >= 1 : struck == 1)
        #expect(again.status == 0, "\(again.output) \(again.errors)")
        #expect(try await playground.sandbox?.count("metrics") == 250)
    }

    @Test func `a worker that a rule stops goes on after SIGCONT`() async throws {
        let (playground, faultline) = try await prepared()
        let scheduler = try playground.start(
            ["run", "upload"],
            environment: faultline.environment(texts: ["clarity-jobs-worker:send:before:1:stop"]))
        let worker = try #require(try await ProcessTable.firstChild(of: scheduler.processID))

        try await ProcessTable.waitForStop(of: worker)
        let requests = try await playground.sandbox?.count("uploads")
        kill(worker, SIGCONT)

        #expect(requests == 0)
        #expect(await scheduler.finish().status == 0)
        #expect(try await playground.sandbox?.count("metrics") == 250)
    }

    @Test func `a rule can make the resolution of a name fail`() async throws {
        let playground = try await Playground { _, folder in
            Playground.standardJobFile(url: "https://localhost.invalid/api/v1", folder: folder)
        }
        let faultline = Faultline(counts: "\(playground.folder.path)/counts")

        let result = try await playground.run(
            "auth", "login", "--email", "demo@example.com", "--password-stdin",
            input: "Demo-Passw0rd!\n",
            environment: faultline.environment(
                texts: ["clarity-jobs-worker:resolve:before:1+:EAI_AGAIN"]))

        #expect(try faultline.struck() >= 1, "\(result.errors)")
    }

    @Test(arguments: [
        "clarity-jobs:commit:before:0:kill", "clarity-jobs:commit:before:1:explode",
        "clarity-jobs:lunch:before:1:kill", "somebody:commit:before:1:kill",
        "clarity-jobs:commit:during:1:kill", "clarity-jobs:commit:before:1", "*:any:after:1:short",
        "*:send:before:1:EAI_AGAIN", "*:any:after:1:kill:twice",
    ])
    func `a rule that cannot be read starts nothing`(rule: String) async throws {
        let playground = try await Playground()
        let faultline = Faultline(counts: "\(playground.folder.path)/counts")

        let result = try await playground.run(
            "validate", environment: faultline.environment(texts: [rule]))

        #expect(result.status == 125)
        #expect(result.errors == "faultline: cannot use `\(rule)`\n")
    }

    /// Returns a playground that is logged in and has 250 samples to send, and a fault library for
    /// it.
    private func prepared() async throws -> (Playground, Faultline) {
        let playground = try await Playground.quick()
        try playground.writeExport(heartRates: 250)
        try await playground.logIn()
        return (playground, Faultline(counts: "\(playground.folder.path)/counts"))
    }
}
