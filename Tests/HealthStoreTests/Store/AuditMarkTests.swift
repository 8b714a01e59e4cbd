import ClarityTestSupport
import Database
import Testing

@testable import HealthStore
@testable import ClarityScheduler

/// Tests an attacker who truncates the log with parts of an older copy of the state.
@Suite("The note of the audit log's end") struct AuditMarkTests {
    private let folder = StateFolder()

    private func open() throws -> HealthStore {
        try folder.open(firstKey, clock: ManualClock(noon))
    }

    /// Adds entries about invented exports.
    private func add(_ count: Int) throws {
        let store = try open()
        for number in 1...count { try store.audit.record(.exported, ["steps": Int64(number)]) }
    }

    private func broken() throws -> String? {
        try open().audit.verify().broken.map { "\($0.number): \($0.reason)" }
    }

    @Test func `entries that are removed with the head of a backup are missed`() throws {
        try add(3)
        let backup = try FileConnection(path: "")
        try FileConnection(path: "\(folder.path)/health.db").copy(into: backup)
        try add(2)
        let file = try FileConnection(path: "\(folder.path)/health.db")

        try file.execute("DELETE FROM audit WHERE number > 3")
        let head = try backup.first(
            "SELECT last_number, last_hash, mac FROM audit_head"
        ) { ($0.integer(0), $0.blob(1), $0.blob(2)) }
        let (number, hash, mac) = try #require(head)
        try file.run(
            "UPDATE audit_head SET last_number = ?, last_hash = ?, mac = ?", .integer(number),
            .blob(hash), .blob(mac))

        #expect(try broken() == "4: it is missing: an older end of the log was put back")
        try add(1)
        #expect(try broken() == "4: the log was found changed here when it was written to")
    }

    @Test func `an older file in the place of the present one is noticed`() throws {
        try add(3)
        let former = folder.bytes(of: "health.db")
        try add(2)

        folder.write(former, to: "health.db")

        #expect(try broken() == "4: it is missing: an older end of the log was put back")
    }

    @Test func `other entries in the place of those that were cut off are noticed`() throws {
        try add(3)
        let former = folder.contents
        try add(2)
        let note = folder.bytes(of: "health.lock")
        for (name, bytes) in former { folder.write(bytes, to: name) }
        try add(2)

        folder.write(note, to: "health.lock")

        #expect(try broken() == "5: it is not the entry that was written: another log was put here")
    }

    @Test func `a note that is gone or changed is noticed`() throws {
        try add(2)
        let note = folder.bytes(of: "health.lock")
        var changed = note
        try #require(!note.isEmpty)
        changed[0] ^= 1

        folder.write(changed, to: "health.lock")
        let first = try broken()
        folder.write([], to: "health.lock")
        let second = try broken()
        folder.write(note, to: "health.lock")

        #expect(first == "3: the note of the log's end in `health.lock` was changed")
        #expect(second == "3: the note of the log's end in `health.lock` is missing")
        #expect(try broken() == nil)
    }

    @Test func `a kill between a commit and its note is no tampering`() throws {
        try add(2)
        let note = folder.bytes(of: "health.lock")
        try add(1)

        folder.write(note, to: "health.lock")

        #expect(try broken() == nil)
        try add(1)
        #expect(try broken() == nil)
    }

    @Test func `a change of the key, a logout and the removal of entries leave the log sound`()
        throws
    {
        try add(4)
        let store = try open()
        try store.audit.confirmUpload(through: 3)
        #expect(try store.audit.prune(through: 3) == 3)
        #expect(try broken() == nil)
        _ = try store.wipe()
        #expect(try broken() == nil)
        try withExtendedLifetime(store) { try store.audit.record(.exported) }
    }

    @Test func `a change of the key notes the end anew, and hides nothing`() throws {
        for isCut in [false, true] {
            let folder = StateFolder()
            let first = try folder.open(firstKey)
            try first.audit.record(.exported)
            let former = folder.bytes(of: "health.db")
            let log = folder.bytes(of: "health.db-wal")
            try first.audit.record(.exported)
            let note = folder.bytes(of: "health.lock")
            let state = StateFolder()
            for (name, bytes) in [
                ("health.db", isCut ? former : folder.bytes(of: "health.db")),
                ("health.db-wal", isCut ? log : folder.bytes(of: "health.db-wal")),
                ("health.lock", note),
            ] { state.write(bytes, to: name) }

            _ = try KeyRotation(
                stateDirectory: state.path,
                environment: firstKey.merging(["NEW": String(repeating: "aa", count: 32)]) { $1 },
                to: .variable("NEW"), actor: AuditActor(), clock: ManualClock(noon)
            ).run()
            let broken = try state.open(secondKey).audit.verify().broken

            #expect((broken != nil) == isCut, "\(String(describing: broken))")
        }
    }
}
