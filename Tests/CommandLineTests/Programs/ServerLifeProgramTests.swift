import ClarityTestSupport
import ClarityHost
import Database
import Glibc
@testable import ProgramTestSupport
import Testing

// The keys, the log and the restore of a state in PostgreSQL.
extension StoreProgramTests {
    /// Makes the state directory of another machine, with copies of some files.
    private func machine(_ name: String, _ files: [String], _ playground: Playground) throws
        -> [String: String]
    {
        let path = "\(playground.folder.path)/\(name)"
        try #require(mkdir(path, 0o700) == 0 && mkdir("\(path)/keys", 0o700) == 0)
        for file in files {
            try playground.folder.write(
                "\(name)/\(file)", TemporaryFolder.read("\(playground.statePath)/\(file)"))
            chmod("\(path)/\(file)", 0o600)
        }
        return ["CLARITY_JOBS_STATE": path]
    }

    @Test func `a master key is changed, and another machine goes on when it has the new one`()
        async throws
    {
        let place = try await place(StoreProgramTests.upload)
        let playground = place.playground
        try await make(place)
        try await playground.logIn()
        try playground.writeExport(heartRates: 300)
        _ = try await playground.run("run", "upload")
        let other = try machine("other", ["keys/master.key"], playground)

        let rotated = try await playground.run("key", "rotate")
        let status = try await playground.json("key", "status")
        try playground.writeExport(heartRates: 350)
        let former = try await playground.run("run", "upload", environment: other)
        let dataOfFormer = try await playground.run("outbox", environment: other)
        let key = try TemporaryFolder.read("\(playground.statePath)/keys/master.key")
        try playground.folder.write("other/keys/master.key", key)
        let upload = try await playground.run("run", "upload", "--force", environment: other)
        let audit = try await playground.run("audit")
        let log = try await playground.run("audit", "log", "--verify")

        #expect(rotated.status == 0, "\(rotated.errors)")
        #expect(
            rotated.output.contains(
                "put the new key into `\(playground.statePath)/keys/master.key` of each other machine"
            ),
            "\(rotated.output)")
        #expect(rotated.errors.contains("VACUUM"), "\(rotated.errors)")
        #expect(status["changes"].number == 1)
        #expect(former.status != 0)
        #expect(dataOfFormer.status == 69 && dataOfFormer.errorLines.count == 1)
        #expect(
            dataOfFormer.errors.contains(
                "if `clarity-jobs key rotate` has changed the master key, copy the new one to this "
                    + "machine"), "\(dataOfFormer.errors)")
        #expect(upload.status == 0, "\(upload.errors)")
        #expect(audit.status == 0 && log.status == 0, "\(audit.errors)\(log.output)")
        #expect(try await #require(playground.sandbox).count("distinct_metric_ids") == 350)
    }

    @Test func `an older dump that was put back is noticed, until a person accepts it`()
        async throws
    {
        let place = try await place(StoreProgramTests.upload)
        let playground = place.playground
        let folder = try #require(PostgresServer.programs)
        func program(_ name: String, _ words: String..., input: String = "") async throws
            -> ProgramResult
        {
            try await ChildProgram(
                "\(folder)/\(name)",
                words + ["-h", place.database.host, "-U", "admin", place.database.database],
                environment: ["PGPASSWORD": "invented"]
            ).finish(input: input)
        }
        try await make(place)
        try await playground.logIn()
        try playground.writeExport(heartRates: 300)
        _ = try await playground.run("run", "upload")
        let dump = try await program("pg_dump", "-n", "clarity_history", "-n", "clarity_health")
        try playground.writeExport(heartRates: 350)
        _ = try await playground.run("run", "upload")
        let other = try machine("other", ["keys/master.key", "audit.end"], playground)
        let new = try machine("new", ["keys/master.key"], playground)
        let before = try await playground.run("audit")

        try place.server.administrator(of: place.database.database).execute(
            "DROP SCHEMA clarity_health, clarity_history CASCADE")
        let restored = try await program(
            "psql", "-q", "-v", "ON_ERROR_STOP=1", input: dump.output)
        let noticed = try await playground.run("audit")
        let json = try await playground.run("audit", "-o", "json", environment: other)
        let verified = try await playground.run("audit", "log", "--verify")
        let unknown = try await playground.run("audit", environment: new)
        let accepted = try await playground.run("audit", "--repair")
        let again = try await playground.run("audit", "--repair")
        let afterwards = [
            try await playground.run("audit"),
            try await playground.run("audit", environment: other),
            try await playground.run("audit", "log", "--verify", environment: other),
            try await playground.run("audit", "log", "--verify"),
        ]
        let log = try await playground.run("audit", "log")

        #expect(before.status == 0, "\(before.output)\(before.errors)")
        #expect(restored.status == 0 && !dump.output.isEmpty, "\(dump.errors)\(restored.errors)")
        #expect(noticed.status == 1)
        #expect(
            noticed.output.contains("audit-log: the log is broken at entry ")
                && noticed.output.contains("an older end of the log was put back"),
            "\(noticed.output)")
        #expect(noticed.errors.contains("`clarity-jobs audit --repair`"), "\(noticed.errors)")
        #expect(json.status == 1 && json.output.contains("audit-log"), "\(json.output)")
        #expect(verified.status == 1, "\(verified.output)")
        // A machine without a note cannot know.
        #expect(unknown.status == 0, "\(unknown.output)")
        #expect(accepted.status == 0, "\(accepted.output)\(accepted.errors)")
        #expect(accepted.errors.contains("taken as it is: the log is broken at entry"))
        #expect(again.errors.contains("there is nothing to repair"), "\(again.errors)")
        for result in afterwards { #expect(result.status == 0, "\(result.output)") }
        #expect(log.output.contains("the log was taken as it ends"), "\(log.output)")
    }
}
