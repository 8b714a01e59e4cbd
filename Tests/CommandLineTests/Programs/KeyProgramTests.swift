import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Testing

@Suite("key", .timeLimit(.minutes(5)))
struct KeyProgramTests {
    @Test func `after a key rotation everything works as before`() async throws {
        let playground = try await Playground.quick()
        try await playground.logIn()
        try playground.writeExport(heartRates: 30)
        #expect(try await playground.run("run", "upload").status == 0)
        let sent = try await playground.sandbox?.count("metrics")
        let former = try TemporaryFolder.read("\(playground.statePath)/keys/master.key")

        let before = try await playground.json("key", "status")
        let rotation = try await playground.run("key", "rotate")
        let after = try await playground.json("key", "status")
        let told = try await playground.run("key", "status")
        let status = try await playground.run("auth", "status")
        let again = try await playground.run("run", "upload", "-v")

        #expect(rotation.status == 0 && rotation.errors == "")
        #expect(
            rotation.output.wholeMatch(
                of:
                    #/
                    the\ master\ key\ was\ changed\n
                    \d+\ rows\ are\ encrypted\ with\ the\ new\ key\n
                    backups\ of\ before\ open\ with\ the\ former\ key\ alone;\ make\ a\ new\ one\n
                    /#) != nil)
        #expect(before["place"].text == "the file `\(playground.statePath)/keys/master.key`")
        #expect(before["changes"].number == 0 && after["changes"].number == 1)
        #expect(isInstant(after["since"].text))
        #expect(told.output.hasSuffix(", changed once\n"))
        #expect(status.status == 0)
        #expect(again.status == 0)
        // No sample was sent twice: the samples are known under the new key.
        #expect(sent != nil)
        #expect(try await playground.sandbox?.count("metrics") == sent)
        let next = try TemporaryFolder.read("\(playground.statePath)/keys/master.key")
        #expect(next != former)
        for (name, bytes) in try playground.folder.contents() where !name.hasPrefix("sandbox/") {
            #expect(bytes.firstRange(of: former.dropLast()) == nil, "the former key in \(name)")
        }
    }

    @Test func `a key from a variable is rotated by naming the next one`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { url, _ in
            """
            version: 1
            backend: { url: "\(url)" }
            key: { variable: HEALTH_KEY }
            jobs:
              - { id: insights, kind: insight-history, schedule: { every: 1h } }

            """
        }
        let first = ["HEALTH_KEY": String(repeating: "0f", count: 32)]
        let second = String(repeating: "aa", count: 32)
        // Nobody is logged in, but the attempt creates the store under the named key.
        let made = try await playground.run("run", "insights", environment: first)

        let missing = try await playground.run("key", "status")
        let refused = try await playground.run("key", "rotate", environment: first)
        let rotated = try await playground.run(
            "key", "rotate", "--new-key-variable", "NEXT",
            environment: first.merging(["NEXT": second]) { $1 })
        let files = try playground.folder.contents().keys
        let stale = try await playground.run("audit", "log", "--verify", environment: first)
        let proof = try await playground.run(
            "audit", "log", "--verify", environment: ["HEALTH_KEY": second])

        #expect(made.status == 75)
        #expect(!files.contains { $0.hasSuffix("master.key") } && files.contains("state/health.db"))
        #expect(
            missing.isRefusal(
                78,
                "clarity-jobs: the variable `HEALTH_KEY`, named for the master key, is not set"))
        #expect(
            refused.isRefusal(
                78,
                "clarity-jobs: the master key is in the variable `HEALTH_KEY`, where this program "
                    + "does not write; make a new one and name it with --new-key-file or "
                    + "--new-key-variable"))
        #expect(rotated.status == 0)
        #expect(
            rotated.outputLines.last
                == "put the new key into the variable `HEALTH_KEY` now: the former one opens nothing"
        )
        #expect(
            stale.isRefusal(
                78,
                "clarity-jobs: `\(playground.statePath)/health.db` was encrypted with another "
                    + "master key"))
        #expect(proof.status == 0 && proof.output.hasPrefix("the log is sound: 1 entry, head "))
    }

    /// Returns the number of samples in the outbox.
    private func samples(_ playground: Playground) throws -> Int64? {
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite)
            .first("SELECT count(*) FROM outbox") { $0.integer(0) }
    }

    @Test func `a killed rotation is finished by the next call`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        try playground.writeExport(heartRates: 25_000)
        // There is no backend, but the samples are kept.
        _ = try await playground.run("run", "upload")

        let child = try playground.start(["key", "rotate", "-v"])
        let line = await child.readErrorLine()
        child.signal(SIGKILL)
        let killed = await child.finish()
        let status = try await playground.json("key", "status")
        let refused = try await playground.run("auth", "status")
        let finished = try await playground.run("key", "rotate")
        let proof = try await playground.run("audit", "log", "--verify")
        let rows = try samples(playground)
        // Without a login, a run waits unless it is forced.
        let again = try await playground.run("run", "upload", "--force", "-v")
        // With one more sample the file is imported again, and all other samples are known.
        try playground.writeExport(heartRates: 25_001)
        _ = try await playground.run("run", "upload", "--force")

        #expect(line?.hasSuffix(" rows done") == true)
        #expect(killed.status == 128 + SIGKILL)
        let newRows = try #require(status["rotation"]["new_rows"].number)
        let formerRows = try #require(status["rotation"]["former_rows"].number)
        #expect(newRows > 0 && formerRows > 0 && newRows + formerRows > 25_000)
        #expect(
            refused.isRefusal(
                78,
                "clarity-jobs: a change of the master key of `\(playground.statePath)/health.db` "
                    + "was cut short; finish it with `clarity-jobs key rotate`"))
        #expect(
            finished.status == 0
                && finished.output.hasPrefix("finished the change of the master key that began at ")
        )
        #expect(proof.status == 0)
        #expect(again.errors.contains("`export.xml` is as it was when it was read at"))
        #expect(rows == 25_000)
        #expect(try samples(playground) == 25_001)
        // The counts of a run include all its attempts.
        let run = try await playground.lastRun(of: "upload")
        #expect(run["counts"]["samples_queued"].number == 25_001)
        #expect(run["counts"]["samples_duplicate"].number == 25_000)
    }

    @Test func `other commands end with one line during a rotation`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        _ = try await playground.run("run", "refresh")
        let descriptor = open("\(playground.statePath)/health.lock", O_RDWR | O_CLOEXEC)
        try #require(descriptor >= 0 && flock(descriptor, LOCK_EX) == 0)
        defer { close(descriptor) }

        let status = try await playground.run("auth", "status")
        let rotation = try await playground.run("key", "rotate")

        #expect(
            status.isRefusal(
                75,
                "clarity-jobs: the master key of `\(playground.statePath)/health.db` is being "
                    + "changed; try again when that has ended"))
        #expect(
            rotation.isRefusal(
                75,
                "clarity-jobs: `\(playground.statePath)/health.db` is in use by other processes; "
                    + "try again when they have ended, or stop the loop meanwhile"))
    }

    @Test func `without health data there is no key`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let status = try await playground.run("key", "status")
        let rotation = try await playground.run("key", "rotate")
        let both = try await playground.run(
            "key", "rotate", "--new-key-file", "a", "--new-key-variable", "B")

        #expect(
            status.isRefusal(
                78,
                "clarity-jobs: no health data is kept in `\(playground.statePath)` yet, so there is "
                    + "no master key"))
        #expect(
            rotation.isRefusal(
                78,
                "clarity-jobs: there is no `\(playground.statePath)/health.db` yet, so there is no "
                    + "master key to change"))
        #expect(
            both.isRefusal(
                64,
                "clarity-jobs: `key rotate` wants --new-key-file or --new-key-variable, not both"))
        #expect(try playground.folder.contents().keys.sorted() == ["jobs.yaml"])
    }

    @Test func `a damaged login is reported, and a new login repairs it`() async throws {
        let playground = try await Playground()
        try await playground.logIn()
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite)
            .execute("UPDATE session SET sealed = zeroblob(99)")

        let status = try await playground.run("auth", "status")
        let run = try await playground.run("run", "refresh")
        try await playground.logIn()
        let again = try await playground.run("run", "refresh")

        let line = "the login that was kept is damaged; run `clarity-jobs auth login`"
        #expect(status.isRefusal(77, "clarity-jobs: \(line)"))
        #expect(run.status == 77 && run.errors.contains(line))
        #expect(again.status == 0)
    }
}
