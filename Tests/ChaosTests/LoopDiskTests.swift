import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

@Suite(
    "A loop and its disk", .timeLimit(.minutes(3)),
    .enabled(if: TinyDisk.isAllowed, "this process may not mount a file system"))
struct LoopDiskTests {
    private func starts(_ playground: Playground) throws -> Int {
        let path = "\(playground.folder.path)/notes"
        return access(path, F_OK) == 0 ? try TemporaryFolder.read(path).count : 0
    }

    private func wait(_ words: String, until isReached: () throws -> Bool) async throws {
        let start = ContinuousClock.now
        while try !isReached() {
            try #require(ContinuousClock.now - start < .seconds(10), "\(words)")
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    @Test func `a loop waits for a disk that is full, and says so`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            jobs:
              - id: tick
                kind: command
                schedule: { every: 1s }
                options: { command: [sh, -c, 'echo >>\(folder)/notes'] }

            """
        }
        let disk = try TinyDisk(on: playground.statePath, kibibytes: 4096)
        defer { disk.remove() }
        let loop = try playground.start(["loop"])
        try await wait("no start") { try starts(playground) > 0 }

        try await blocking { try disk.fill() }
        var said: String?
        while let line = await loop.readErrorLine() {
            if line.contains("disk is full") {
                said = line
                break
            }
        }
        let before = try starts(playground)
        try disk.makeSpace(kibibytes: 8192)
        try await wait("no start on a disk with space") { try starts(playground) > before }
        loop.signal(SIGTERM)
        let end = await loop.finish()

        #expect(said?.hasSuffix("tries again until it works") == true, "\(said ?? "")")
        #expect(end.status == 128 + SIGTERM, "\(end.errors)")
    }

    @Test func `a limit on the size of files is told, and does not end a program by a signal`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            jobs:
              - { id: a, kind: command, schedule: { every: 1h }, options: { command: ["true"] } }

            """
        }

        let result = try await ChildProgram.run(
            "/bin/sh",
            ["-c", "ulimit -f 8; exec \"$0\" run --due", "\(ChildProgram.folder)/clarity-jobs"],
            environment: [
                "CLARITY_JOBS_CONFIG": playground.jobFilePath,
                "CLARITY_JOBS_STATE": playground.statePath, "PATH": "/usr/bin:/bin",
            ])

        #expect(result.status == 74, "\(result.status): \(result.errors)")
        #expect(result.errors.contains("cannot use history"), "\(result.errors)")
    }
}
