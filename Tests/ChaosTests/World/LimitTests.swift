import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// Real limits of the kernel around the programs: descriptors and memory.
@Suite("A program that may have little", .timeLimit(.minutes(12)))
struct LimitTests {
    @Test func `with ever fewer descriptors a run fails with a word, and loses nothing`()
        async throws
    {
        let scene = try await WorldScene()
        var random = ChaosPlan.current.generator("world-descriptors")
        // What this process has open and lets its children have counts with theirs. Below the first
        // the loader finds no descriptor for the libraries, and no program begins.
        let inherited = try LimitTests.inheritedDescriptors()
        let all = Array(inherited + 1...inherited + 40)
        let limits = ChaosPlan.current.isWhole ? all : Array(all.shuffled(using: &random).prefix(4))
        var line = ChaosLine("world-limits")

        for limit in limits {
            try scene.addSamples(4)
            let result = try await scene.run(["--nofile=\(limit):\(limit)"], .everything)

            // 78 where the limit, which is a setting of the machine, lets no worker start.
            let manners = Manners(result, statuses: [0, 69, 74, 75, 78])
            line.rounds += 1
            if result.status != 0 { line.faults["descriptors", default: 0] += 1 }
            if manners.isCrash { line.crashes += 1 }
            #expect(manners.offences == [], "\(limit) descriptors")
        }
        let proof = try await scene.proof()
        line.add(proof)
        line.tell()

        #expect(proof.holds, "\(proof)")
        #expect(line.faults["descriptors", default: 0] > 0)
    }

    /// How many descriptors a child of this process begins with.
    private static func inheritedDescriptors() throws -> Int {
        var count = 0
        for number in Int32(0)..<1024 {
            let flags = fcntl(number, F_GETFD)
            if flags >= 0, flags & FD_CLOEXEC == 0 { count += 1 }
        }
        return count
    }
}

extension WorldScene {
    /// Does a deed under limits of prlimit(1).
    func run(_ limits: [String], _ deed: Deed) async throws -> ProgramResult {
        try await ChildProgram.run(
            "/usr/bin/prlimit",
            limits + ["\(ChildProgram.folder)/clarity-jobs"] + deed.arguments(playground),
            environment: [
                "CLARITY_JOBS_CONFIG": playground.jobFilePath,
                "CLARITY_JOBS_STATE": playground.statePath, "HOME": playground.folder.path,
                "PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no",
            ])
    }
}

extension ChaosLine {
    /// Counts what a proof found.
    mutating func add(_ proof: StateProof) {
        lost += proof.lost
        doubled += proof.doubled
        stuck += proof.stuck
    }
}
