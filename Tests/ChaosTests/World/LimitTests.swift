import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// Runs the programs under limits of the kernel on descriptors and memory.
@Suite("A program that may have little", .timeLimit(.minutes(40)))
struct LimitTests {
    @Test func `with ever fewer descriptors a run fails with a word, and loses nothing`()
        async throws
    {
        let scene = try await WorldScene()
        var random = ChaosPlan.current.generator("world-descriptors")
        // The descriptors that this process passes on to its children count too. Below the first
        // limit the loader finds no descriptor for the libraries, and no program starts.
        let inherited = try LimitTests.inheritedDescriptors()
        let all = Array(inherited + 5...inherited + 40)
        let limits =
            ChaosPlan.current.isWhole ? all : all.shuffled(using: &random).prefix(1) + [all[6]]
        var line = ChaosLine("world-limits")

        for limit in limits {
            try scene.addSamples(4)
            let result = try await scene.run(
                WorldScene.Deed.everything.arguments(scene.playground),
                through: ["/usr/bin/prlimit", "--nofile=\(limit):\(limit)"])

            line.rounds += 1
            if result.status != 0 { line.faults["descriptors", default: 0] += 1 }
            // 78 if the limit, which is a setting of the machine, lets no worker start.
            line.judge(result, statuses: [0, 69, 74, 75, 78], "\(limit) descriptors")
        }
        let proof = try await scene.proof()
        line.add(proof)
        line.tell()

        #expect(proof.holds, "\(proof)")
        #expect(line.faults["descriptors", default: 0] > 0)
    }

    @Test func `with ever less memory an attempt fails with its reason, and loses nothing`()
        async throws
    {
        let scene = try await WorldScene(jobFile: LimitTests.impatient)
        var random = ChaosPlan.current.generator("world-memory")
        // Below the first limit the loader has no room for the libraries of the program itself.
        // Above the last there is always enough.
        let all = Array(stride(from: 44, through: 200, by: 4))
        let limits =
            ChaosPlan.current.isWhole
            ? all : Array(all.prefix(20).shuffled(using: &random).prefix(1))
        var line = ChaosLine("world-limits")

        for limit in limits {
            try scene.addSamples(4)
            let result = try await scene.run(
                ["run", "upload", "--verbose"],
                through: ["/usr/bin/prlimit", "--as=\(limit << 20)"])
            let told = try await scene.playground.history("upload").first

            line.rounds += 1
            if result.status != 0 { line.faults["memory", default: 0] += 1 }
            line.judge(
                result, statuses: LimitTests.outOfMemory, "\(limit) MiB", isWorkerExpendable: true)
            #expect(told?.state != "running", "\(limit) MiB")
            if told?.state == "failed" { #expect(told?.failure?.isEmpty == false) }
        }
        let proof = try await scene.proof()
        line.add(proof)
        line.tell()

        #expect(proof.holds, "\(proof)")
        #expect(line.faults["memory", default: 0] > 0)
    }

    @Test func `a loop lives on when its workers have no memory`() async throws {
        let scene = try await WorldScene(isFresh: true, jobFile: LimitTests.impatient)
        try scene.addSamples(24)
        // Enough for the loop, which has few libraries, and too little for a worker.
        let program = "\(ChildProgram.folder)/clarity-jobs"
        let loop = try ChildProgram(
            "/usr/bin/prlimit", ["--as=\(72 << 20)", program, "loop"],
            environment: [
                "CLARITY_JOBS_CONFIG": scene.playground.jobFilePath,
                "CLARITY_JOBS_STATE": scene.playground.statePath,
                "HOME": scene.playground.folder.path, "PATH": "/usr/bin:/bin",
            ])

        let jobs: Set = ["refresh", "upload", "status", "insights", "cleanup"]
        var failed: Set<String> = []
        while failed != jobs, let line = await loop.readErrorLine() {
            // Reads lines such as `upload: failed once, tries again at ...`. The loader writes lines as
            // well.
            let job = line.prefix { $0 != ":" }
            if jobs.contains(String(job)) { failed.insert(String(job)) }
        }
        let isAlive = ProcessTable.isAlive(loop.processID)
        loop.signal(SIGTERM)
        let end = await loop.finish()
        let proof = try await scene.proof()

        var line = ChaosLine("world-limits")
        line.rounds = 1
        line.faults["memory"] = failed.count
        line.judge(end, statuses: [143], "the loop")
        line.add(proof)
        line.tell()
        #expect(failed == jobs)
        #expect(isAlive)
        #expect(proof.holds, "\(proof)")
    }

    /// 70 or 75 if the run fails for good or waits for a retry, 124 if its worker waited for a
    /// thread until the timeout.
    private static let outOfMemory: Set<Int32> = [0, 69, 70, 74, 75, 124]

    /// A job file whose uploads time out soon: a worker without memory may wait for some.
    private static func impatient(url: String, folder: String) -> String {
        WorldScene.jobFile(url: url, folder: folder)
            .replacing("kind: bulk-upload", with: "kind: bulk-upload\n    timeout: 20s")
    }

    /// Returns how many descriptors a child of this process starts with.
    private static func inheritedDescriptors() throws -> Int {
        var count = 0
        for number in Int32(0)..<1024 {
            let flags = fcntl(number, F_GETFD)
            if flags >= 0, flags & FD_CLOEXEC == 0 { count += 1 }
        }
        return count
    }
}
