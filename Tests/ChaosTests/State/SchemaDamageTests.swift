import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// A flipped bit in the text of a schema. SQLite finds every page intact, and a command that only
/// reads does not even check the names in the constraints.
@Suite("Damaged schemas", .timeLimit(.minutes(10)))
struct SchemaDamageTests {
    struct Turn: Sendable, CustomTestStringConvertible {
        let file: String
        let word: String
        let turned: String

        var testDescription: String { "\(turned) for \(word) in \(file)" }
    }

    @Test(arguments: [
        // A column that constraints name, a column that none names, a function, and a word of a
        // constraint.
        Turn(file: "history.db", word: "interruptions", turned: "interruptinns"),
        Turn(file: "history.db", word: "failure_reason", turned: "failure_reasom"),
        Turn(file: "history.db", word: "'superseded'", turned: "'supersedee'"),
        Turn(file: "health.db", word: "length(", turned: "lelgth("),
        Turn(file: "health.db", word: "last_asked_at_ms", turned: "last_askee_at_ms"),
        Turn(file: "health.db", word: "'setAside'", turned: "'setAsidd'"),
    ])
    func `a bit of a schema is told of, kept out of backups, and comes back`(
        turn: Turn
    ) async throws {
        let kept = try await KeptState()
        let playground = kept.playground
        try turn.strike("\(playground.statePath)/\(turn.file)")

        let audit = try await playground.run("audit")
        let run = try await playground.run("run", "upload", "--force")
        let backup = try await playground.run("backup")
        let restored = try await playground.run("restore")
        if turn.file == "health.db" { try await kept.forgetSends() }

        #expect([1, 74].contains(audit.status), "\(audit)")
        #expect([0, 74].contains(run.status), "\(run)")
        #expect(backup.status == 74, "\(backup)")
        for result in [audit, run, backup] where result.status == 74 {
            #expect(result.errors.contains("with `clarity-jobs restore`"), "\(result)")
        }
        #expect(restored.status == 0, "\(restored)")
        #expect(try await kept.faultsAfterCleanRun() == [])
    }
}

extension SchemaDamageTests.Turn {
    /// Replaces the first such word of the file.
    func strike(_ path: String) throws {
        var bytes = try TemporaryFolder.read(path)
        let place = try #require(bytes.firstRange(of: Array(word.utf8)))
        bytes.replaceSubrange(place, with: Array(turned.utf8))
        try Damage.overwrite(path, bytes)
    }
}
