import ClarityScheduler
import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// As many accounts as `scripts/many-accounts` asks for, with a loop and its real workers, against a
/// backend that fails now and then.
@Suite("Very many wearers", .timeLimit(.minutes(60)))
struct ManyAccountsTests {
    private static let count = getenv("CLARITY_ACCOUNTS").flatMap { Int(String(cString: $0)) }
    private static let seconds =
        getenv("CLARITY_ACCOUNTS_SECONDS").flatMap { Int(String(cString: $0)) } ?? 240

    /// What the backend does to uploads, in turns.
    private static let faults = [
        "POST /health-data/upload: 503 x5", "POST /health-data/upload: drop x5",
        "POST /health-data/upload: reset x5", "POST /health-data/upload: truncate x3",
        "POST /health-data/upload: latency=400ms x20", "POST /health-data/upload: expire x3",
        "GET /health-data: 500 x5", "POST /auth/refresh: 503 x2",
    ]

    @Test(.enabled(if: count != nil, "scripts/many-accounts asks for it"))
    func `each sample is stored once, under its wearer, whatever the backend does`()
        async throws
    {
        let scene = try await AccountScene(Self.count ?? 0, .deduplicates, every: "4m")
        var random = ChaosPlan.current.generator("many accounts")
        var line = ChaosLine("accounts-many")
        let deadline = ContinuousClock.now + .seconds(Self.seconds)
        var disturbed: [ClosedRange<Int>] = []
        let first = try await scene.sandbox.lastSend() + 1

        let loop = try scene.start(["loop"])
        async let end = loop.finish()
        while ContinuousClock.now < deadline {
            let fault = Self.faults.randomElement(using: &random) ?? ""
            try await scene.sandbox.addFault(fault)
            // Such as `latency-400ms`, which a line of chaos may have.
            let name = fault.split(separator: " ")[2].replacing("=", with: "-")
            line.faults["answer-\(name)", default: 0] += 1
            for _ in 0..<20 {
                let id = scene.ids.randomElement(using: &random) ?? ""
                try scene.grow(id, by: Int.random(in: 1...6, using: &random))
            }
            // Paced by what the backend has received, and not by a clock.
            let sends = try await scene.sandbox.lastSend()
            try await scene.sandbox.wait(for: sends + 10) { try await $0.lastSend() }
            line.rounds += 1
        }
        loop.signal(SIGTERM)
        let result = await end
        try await scene.sandbox.waitUntilQuiet()
        try await scene.sandbox.clearFaults()
        let last = try await scene.sandbox.lastSend()
        if last >= first { disturbed.append(first...last) }
        try scene.quiet()
        _ = try await scene.settle()
        try await scene.finishOpenRuns()
        let leftovers = try await scene.settle()
        let verdict = try await scene.judge(cutShort: nil, disturbed: disturbed)
        let audit = try await scene.run("audit", "--all", "--quiet")
        let evidence = try CrowdEvidence(scene.playground)

        line.lost = verdict.lost
        line.doubled = verdict.doubled + evidence.overlaps.count
        line.stuck = verdict.stuck + evidence.open.count
        line.crashes = evidence.broken.count
        line.tell()
        #expect(result.status == 143, "\(result.errors.suffix(600))")
        #expect(leftovers == [])
        #expect(verdict.findings == [])
        #expect(
            [line.lost, line.doubled, line.stuck, line.crashes] == [0, 0, 0, 0],
            "\(evidence.open)")
        #expect(audit.status == 0, "\(audit.errors.suffix(600))")
        print("accounts: \(scene.ids.count), attempts: \(evidence.attempts)")
    }
}
