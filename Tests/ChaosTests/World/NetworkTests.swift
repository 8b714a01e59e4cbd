import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("A network that fails", .serialized, .timeLimit(.minutes(40)))
struct NetworkTests {
    /// The statuses of a run that did not reach its backend.
    private static let statuses: Set<Int32> = [0, 69, 75]

    @Test(arguments: DeliveryJudge.Policy.drawn("network"))
    func `at whatever send or receive a connection breaks, nothing is lost or doubled`(
        policy: DeliveryJudge.Policy
    ) async throws {
        let sweep = WorldSweep(
            part: "world-network",
            kinds: [
                .init(point: .send, action: "ECONNRESET", whens: [.before, .after]),
                .init(point: .send, action: "short"),
                .init(point: .send, action: "EINTR", mayGoOn: false),
                .init(point: .receive, action: "ECONNRESET", whens: [.before, .after]),
                .init(point: .receive, action: "short"),
                .init(point: .receive, action: "EINTR", mayGoOn: false),
                .init(point: .connect, action: "ECONNRESET", whens: [.before, .after]),
                .init(point: .connect, action: "ETIMEDOUT"),
            ],
            deeds: [.upload, .refresh, .insights, .everything], statuses: NetworkTests.statuses,
            policy: policy)

        let line = try await sweep.run(rounds: ChaosPlan.current.size(slice: 2, whole: 40))

        line.tell()
        #expect(line.faults.values.reduce(0, +) > 0)
    }

    /// libcurl keeps such a connection. An answer that still arrives on it is not the answer to the
    /// next request.
    @Test func `a request that failed leaves its connection to no other`()
        async throws
    {
        let scene = try await WorldScene()
        let faultline = Faultline(counts: "\(scene.playground.folder.path)/counts")
        let reset = Faultline.Rule(
            program: .worker, point: .send, when: .after, nth: 1, action: "ECONNRESET")
        let before = try await scene.sandbox.lastSend()
        try scene.addSamples(8)

        let result = try await scene.disturb {
            try await scene.run(
                .upload,
                faultline.environment(rules: [reset], folder: scene.playground.folder.path))
        }

        let sends = try await scene.sandbox.sends(after: before).sends
        #expect(result.status == 0, "\(result.errors)")
        #expect(try faultline.struck() == 1)
        // The first may be gone with its connection before anybody has read it.
        #expect(!sends.isEmpty && Set(sends.map(\.connection)).count == sends.count)
    }

    /// Each job reads the unsent samples while the other job's batch has no answer yet.
    @Test(arguments: DeliveryJudge.Policy.allCases)
    func `two jobs that upload at the same time send each sample once`(
        policy: DeliveryJudge.Policy
    ) async throws {
        let scene = try await WorldScene(policy, isFresh: true)
        let path = policy == .deduplicates ? "/health-data/upload" : "/healthkit"
        try await scene.sandbox.addFault("POST \(path): latency=300ms x*")
        try scene.addSamples(40)

        let uploads = try ["upload", "upload-too"].map {
            try scene.playground.start(["run", $0])
        }
        let ends = [await uploads[0].finish(), await uploads[1].finish()]
        let proof = try await scene.proof()

        var line = ChaosLine("world-network")
        line.rounds = 1
        line.faults["slow-answers"] = 1
        for end in ends { line.judge(end, statuses: [0, 75], "\(policy)") }
        line.add(proof)
        line.tell()
        #expect(proof.holds, "\(policy): \(proof)")
    }

    /// The kinds of request that a full flow makes, by method and path.
    private static let requests = [
        "GET /auth/me", "POST /health-data/upload", "GET /health-data",
        "GET /health-data/processing/*", "GET /insights/history/*", "GET /insights/*",
        "POST /auth/refresh",
    ]

    @Test
    func `whichever request is dropped, cut, reset or left without an answer, all is made good`()
        async throws
    {
        var all: [(request: String, fault: String)] = []
        for request in NetworkTests.requests {
            for fault in ["drop", "reset", "truncate", "hang"] {
                for passed in 0..<3 {
                    let pass = passed == 0 ? "" : "pass x\(passed), "
                    for times in ["", " x*"] where fault != "hang" || times.isEmpty {
                        all.append((request, "\(request): \(pass)\(fault)\(times)"))
                    }
                }
            }
        }
        var random = ChaosPlan.current.generator("world-requests")
        let chosen = all.shuffled(using: &random)
            .prefix(ChaosPlan.current.size(slice: 1, whole: .max))
        var scene = try await WorldScene(jobFile: NetworkTests.impatient)
        var line = ChaosLine("world-network")

        for (request, fault) in chosen {
            try scene.addSamples(32)
            if request == "POST /auth/refresh" { try await scene.sandbox.expireTokens() }
            try await scene.sandbox.addFault(fault)
            let current = scene
            let result = try await scene.disturb { try await current.run(.everything, [:]) }
            let struck = try await scene.sandbox.clearFaults()
            var (statuses, proof) = (NetworkTests.statuses.union([124]), try await scene.proof())
            let hasLostSession =
                request == "POST /auth/refresh" && struck > 0
                ? try await scene.playground.hasLostRenewal() : false
            if hasLostSession {
                // Each command reports this by its end, and only a login resolves it.
                statuses.insert(77)
                line.faults["session-lost", default: 0] += 1
                try await scene.playground.logIn()
                proof = try await scene.proof()
            }

            line.rounds += 1
            // A round makes some kinds of request once, so a fault of a later one never strikes.
            if struck > 0 { line.faults["sandbox-fault", default: 0] += 1 }
            line.judge(result, statuses: statuses, fault)
            line.add(proof)
            #expect(proof.holds, "\(fault): \(proof)")
            // A third login within a quarter of an hour is not allowed.
            if hasLostSession { scene = try await WorldScene(jobFile: NetworkTests.impatient) }
        }
        line.tell()
    }

    @Test(.enabled(if: NetworkNamespace.isPermitted, "no network of a test's own"))
    func `a host that vanishes in the middle of an upload costs a time limit and no more`()
        async throws
    {
        let network = try NetworkNamespace()
        let scene = try await WorldScene(in: network, jobFile: NetworkTests.impatient)
        var line = ChaosLine("world-network")
        for uploads in 0..<ChaosPlan.current.size(slice: 1, whole: 6) {
            try scene.addSamples(64)
            let taken = try await scene.sandbox.count("uploads")
            let result = try await scene.disturb {
                let upload = try scene.playground.start(["run", "upload"])
                try await scene.sandbox.wait(for: taken + uploads, of: upload) {
                    try await $0.count("uploads")
                }
                // From here on every packet is dropped, on open connections too.
                try network.ip("link set lo down")
                let result = await upload.finish()
                try network.ip("link set lo up")
                return result
            }
            let proof = try await scene.proof()

            line.rounds += 1
            if result.status != 0 { line.faults["link-down", default: 0] += 1 }
            line.judge(
                result, statuses: NetworkTests.statuses.union([124]), "after \(uploads) uploads")
            line.add(proof)
            #expect(proof.holds, "after \(uploads) uploads: \(proof)")
        }
        line.tell()
    }

    @Test(.enabled(if: NetworkNamespace.isPermitted, "no network of a test's own"))
    func `a name that nobody resolves is said in a line`() async throws {
        let network = try NetworkNamespace()
        let playground = try await Playground(sandboxOptions: nil, in: network) {
            _, folder in
            Playground.standardJobFile(url: "https://clarity.example/api/v1", folder: folder)
        }
        let faultline = Faultline(counts: "\(playground.folder.path)/counts")
        let resolve = Faultline.Rule(
            program: .worker, point: .resolve, when: .before, nth: 1, goesOn: true,
            action: "EAI_AGAIN")
        let login = ["auth", "login", "--email", "demo@example.com", "--password-stdin"]

        // Once by the resolver's own failure in a network without one, and once by an injected
        // failure.
        let unresolved = try await playground.start(login).finish(input: "Demo-Passw0rd!\n")
        let later = try await playground.start(
            login, environment: faultline.environment(rules: [resolve])
        ).finish(input: "Demo-Passw0rd!\n")
        let struck = try faultline.struck()

        var line = ChaosLine("world-network", measures: [.crashes])
        line.rounds = 2
        line.faults = ["no-resolver": 1, "eai-again": struck]
        for result in [unresolved, later] {
            line.judge(result, statuses: [69], "a name that nobody resolves")
            #expect(result.errorLines.count == 1, "\(result.errors)")
            #expect(
                result.errors.contains("cannot resolve the backend's host `clarity.example`"),
                "\(result.errors)")
        }
        line.tell()
        #expect(struck > 0)
    }

    /// A job file whose jobs time out soon if nobody answers.
    private static func impatient(url: String, folder: String) -> String {
        WorldScene.jobFile(url: url, folder: folder)
            .replacing("class: app-refresh,", with: "class: app-refresh, timeout: 6s,")
            .replacing("kind: bulk-upload", with: "kind: bulk-upload\n    timeout: 6s")
            .replacing("kind: processing-status,", with: "kind: processing-status, timeout: 6s,")
            .replacing("kind: insight-history,", with: "kind: insight-history, timeout: 6s,")
    }
}
