import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// A folder with the built `clarity-jobs` and, beside it, a shell script that the program runs as
/// its worker.
///
/// The script reads the order as any worker does. For the job `good` it reports success. For every
/// other job it runs `behaviour`, in which `report` writes one line and `wait_for_end` reads
/// descriptor 3 until the scheduler closes it.
final class HostileWorker: Sendable {
    let playground: Playground
    let folder: TemporaryFolder

    var workerPath: String { "\(folder.path)/clarity-jobs-worker" }
    var programPath: String { "\(folder.path)/clarity-jobs" }

    /// Writes the script and a job file with two jobs that are due: `hostile`, which has these
    /// `settings`, and after it `good`. Each has one attempt.
    init(_ behaviour: String, settings: String = "") async throws {
        folder = try TemporaryFolder()
        playground = try await Playground(sandboxOptions: nil) { url, _ in
            """
            version: 1
            backend: { url: \(url) }
            defaults: { max_parallel: 1, retry: { attempts: 1 } }
            jobs:
              - { id: hostile, kind: refresh, schedule: { every: 1h }\(settings) }
              - { id: good, kind: refresh, schedule: { every: 1h } }

            """
        }
        try folder.linkProgram("clarity-jobs")
        try folder.linkProgram("clarity-jobs-keeper")
        let script = """
            #!/bin/sh
            report() { printf '%s\\n' "$*" >&4; }
            wait_for_end() { while read -r line <&3; do :; done; }
            job=
            while IFS= read -r line <&3 && [ "$line" != end ]; do
                case $line in job=*) job=${line#job=} ;; esac
            done
            if [ "$job" = good ]; then
                report outcome success
                exit 0
            fi
            \(behaviour)

            """
        try folder.write("clarity-jobs-worker", Array(script.utf8))
        try #require(chmod(workerPath, 0o700) == 0)
    }

    /// Starts `clarity-jobs` from this folder and merges its error stream into its output.
    func start(_ arguments: String) throws -> ChildProgram {
        try ChildProgram(
            "/bin/sh", ["-c", "exec \"$0\" \(arguments) 2>&1", programPath],
            environment: [
                "CLARITY_JOBS_CONFIG": playground.jobFilePath,
                "CLARITY_JOBS_STATE": playground.statePath, "HOME": folder.path,
                "PATH": "/usr/bin:/bin", "FOLDER": folder.path,
            ])
    }

    /// Runs `clarity-jobs` from this folder until it ends.
    func run(_ arguments: String) async throws -> ProgramResult {
        try await start(arguments).finish()
    }

    /// Runs the loop until it has reported both jobs, then drains it.
    func loop() async throws -> (lines: [String], status: Int32) {
        let loop = try start("loop")
        var lines: [String] = []
        while !["hostile: ", "good: "].allSatisfy({ job in lines.contains { $0.hasPrefix(job) } }) {
            lines.append(try #require(await loop.readLine(), "the loop ended: \(lines)"))
        }
        loop.signal(SIGTERM)
        return (lines, await loop.finish().status)
    }

    /// Returns the last run of a job.
    func lastRun(of job: String) async throws -> HistoryRun {
        try #require(try await playground.history(job).first, "`\(job)` never ran")
    }
}
