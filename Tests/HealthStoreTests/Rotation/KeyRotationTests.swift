@preconcurrency import Glibc
import Database
import Testing

@testable import HealthStore
@testable import ClarityScheduler
@testable import Platform

@Suite struct KeyRotationTests {
    private struct Killed: Error {}

    private func rotation(
        _ folder: StateFolder, to key: NewKey = .made, _ environment: [String: String] = [:],
        portion: Int = 2, patience: Duration = .seconds(60)
    ) -> KeyRotation {
        var rotation = KeyRotation(
            stateDirectory: folder.path, environment: environment, to: key,
            actor: AuditActor(program: "key rotate"), clock: FixedClock(noon))
        rotation.portion = portion
        // A process that another test is starting holds this process's descriptors until it
        // executes its program.
        rotation.patience = patience
        return rotation
    }

    /// Counts the encrypted values in the file that a cipher can decrypt in their rows.
    private func opened(
        _ folder: StateFolder, by cipher: Cipher, access: FileConnection.Access = .immutable
    ) throws -> Int {
        let connection = try FileConnection(path: "\(folder.path)/health.db", access: access)
        var count = 0
        for table in EncryptedTable.all + [.formerKeys] {
            for entry in try table.entries(after: 0, limit: 99, connection) {
                guard let encrypted = entry.encrypted else { continue }
                count += cipher.opened(encrypted, for: table.identity(of: entry)) == nil ? 0 : 1
            }
        }
        let log = AuditLog(connection: connection, cipher: cipher)
        count += try log.links(after: 0, limit: 99).count { log.entry(of: $0) != nil }
        return count
    }

    private func key(in folder: StateFolder) throws -> MasterKey {
        try #require(
            try MasterKeySource(stateDirectory: folder.path, environment: [:]).load())
    }

    @Test func `values that are removed after a change of the key leave their samples known`()
        throws
    {
        let filled = try FilledStore()
        for _ in 0..<2 {
            _ = try rotation(filled.folder).run()
            let store = try filled.folder.open()
            _ = try store.prune(before: noon + .seconds(99))
            let counts = try store.outbox.enqueue(filled.packed + filled.bare)
            #expect(counts.duplicates == 7 && counts.queued == 0)
        }
    }

    @Test func `everything is as before under the new key, and the former one opens nothing`()
        throws
    {
        let filled = try FilledStore()
        let former = try Cipher(key(in: filled.folder))
        let before = try opened(filled.folder, by: former)

        let report = try rotation(filled.folder).run()

        #expect(before > 15)
        #expect(report.damaged == 0 && report.resumedFrom == nil && report.placeToFill == nil)
        #expect(try opened(filled.folder, by: former) == 0)
        let next = try Cipher(key(in: filled.folder))
        // The log's entry about the rotation, and the two copies of the former index key.
        #expect(try opened(filled.folder, by: next) == before + 3)
        #expect(filled.folder.names == ["health.db", "health.lock", "keys/master.key", "login"])
        #expect(filled.folder.mode(of: "keys/master.key") == 0o600)
        try filled.expectWhole()
    }

    @Test func `nothing that the former key opens is left in any file when it goes`() throws {
        let filled = try FilledStore()
        let connection = try FileConnection(path: "\(filled.folder.path)/health.db")
        var former = try EncryptedTable.all.flatMap { table in
            try table.entries(after: 0, limit: 99, connection).compactMap(\.encrypted)
        }
        former += try connection.all("SELECT sealed FROM audit") { $0.blob(0) }
        former += try connection.all("SELECT sealed FROM canary") { $0.blob(0) }
        var left: [Int] = []
        var change = rotation(filled.folder)
        change.after = { step in
            guard step == .rowsDone || step == .logEmptied else { return }
            let files = filled.folder.contents.filter { $0.key.hasPrefix("health.db") }.values
            left.append(former.count { encrypted in files.contains { $0.contains(encrypted) } })
        }

        _ = try change.run()

        #expect(former.count > 20)
        #expect(left.count == 2 && left[0] > 0 && left[1] == 0)
    }

    @Test(arguments: [
        "DELETE FROM audit WHERE number = 2", "DELETE FROM audit_head",
        "UPDATE audit SET hash = zeroblob(32) WHERE number = 2",
    ])
    func `entries beside a break of the log can be read as before`(damage: String) throws {
        let filled = try FilledStore()
        try filled.folder.open().sql(damage)
        let before = try filled.folder.open().audit.records(limit: 99)
        let broken = try filled.folder.open().audit.verify().broken

        let report = try rotation(filled.folder).run()

        let store = try filled.folder.open()
        let after = try store.audit.records(limit: 99).filter { $0.entry?.action != .keyRotated }
        #expect(before.count > 3 && before.allSatisfy { $0.entry != nil })
        #expect(after.map(\.entry) == before.map(\.entry))
        #expect(report.damaged == 0)
        #expect(broken != nil)
        #expect(try store.audit.verify().broken?.number == broken?.number)
    }

    @Test func `no draft of a key that a kill left behind outlives a change`() throws {
        let filled = try FilledStore()
        let former = filled.folder.bytes(of: "keys/master.key")
        filled.folder.write(former, to: "keys/master.key.draft-Xy01aZ")
        filled.folder.write(former, to: "keys/master.key.new.draft-q9ZZ0b")
        filled.folder.write([1], to: "keys/master.key.backup")

        _ = try rotation(filled.folder).run()

        #expect(
            filled.folder.names
                == [
                    "health.db", "health.lock", "keys/master.key", "keys/master.key.backup",
                    "login",
                ])
        try filled.expectWhole()
    }

    @Test func `a key is changed again and again`() throws {
        let filled = try FilledStore()

        for _ in 0..<3 { _ = try rotation(filled.folder).run() }

        try filled.expectWhole()
        let status = try KeyStatus.read(stateDirectory: filled.folder.path, environment: [:])
        #expect(status?.changes == 3)
        #expect(status?.since == noon)
    }

    @Test func `a kill at any step is finished by the next call`() throws {
        let filled = try FilledStore()
        let former = try Cipher(key(in: filled.folder))
        var stops: [(step: KeyRotation.Step, store: FilledStore)] = []
        var first = rotation(filled.folder, portion: 4)
        first.after = { stops.append(($0, filled.copy())) }
        _ = try first.run()
        let portions = stops.count { $0.step == .portion }

        #expect(portions > 12 && stops.count == portions + 5)
        for (step, store) in stops {
            let begins = step == .keyKept
            if begins {
                _ = try store.folder.open()
            } else {
                let error = #expect(throws: HealthStoreError.self) { try store.folder.open() }
                #expect(
                    error?.description
                        == "a change of the master key of `\(store.folder.path)/health.db` was cut "
                        + "short; finish it with `clarity-jobs key rotate`", "\(step)")
                #expect(error?.failure.category == .configuration)
                #expect(throws: HealthStoreError.self) {
                    try HealthStore.dryRun(of: store.folder.path, environment: [:])
                }
            }

            let report = try rotation(store.folder, portion: 4).run()

            #expect((report.resumedFrom == nil) == begins)
            #expect(try opened(store.folder, by: former) == 0, "\(step)")
            #expect(!store.folder.names.contains("keys/master.key.new"))
            try store.expectWhole()
            let counts = try store.folder.open().audit.records(limit: 99).compactMap(\.entry)
                .filter { $0.action == .keyRotated }.map(\.counts)
            #expect(counts == [["rows": report.rows, "damaged rows": 0]])
        }
    }

    @Test(arguments: [NewKey.made, .variable("NEXT")])
    func `an account of before gets a key of its own, whenever the change is killed`(
        to new: NewKey
    ) throws {
        let hex = String(repeating: "0f", count: 32)
        let given = ["CLARITY_JOBS_KEY": hex, "CLARITY_JOBS_KEY_WRAPS": "1"]
        let during = given.merging(["NEXT": String(repeating: "aa", count: 32)]) { $1 }
        let after =
            new == .made
            ? given : given.merging(["CLARITY_JOBS_KEY": String(repeating: "aa", count: 32)]) { $1 }
        let filled = try FilledStore(["CLARITY_JOBS_KEY": hex])
        // What the given key derives opens everything.
        let derived = try cipher(["CLARITY_JOBS_KEY": hex])
        var stops: [(step: KeyRotation.Step, store: FilledStore)] = []
        var first = rotation(filled.folder, to: new, during, portion: 40)
        first.after = { stops.append(($0, filled.copy())) }
        let report = try first.run()

        #expect(try opened(filled.folder, by: derived) == 0)
        #expect(report.placeToFill == (new == .made ? nil : "the variable `CLARITY_JOBS_KEY`"))
        for store in [filled] + stops.map(\.store) {
            if store.folder.path != filled.folder.path {
                _ = try rotation(store.folder, to: new, during, portion: 40).run()
            }
            try store.expectWhole(after)
            #expect(try opened(store.folder, by: derived) == 0)
            #expect(store.folder.names.filter { $0.contains(".key") } == ["account.key"])
        }
        // Again, with the key of its own.
        let second = try rotation(filled.folder, after).run()
        #expect(second.placeToFill == nil)
        try filled.expectWhole(after)
    }

    @Test func `a change can be stopped many times`() throws {
        let filled = try FilledStore()
        var starts = 0

        while starts < 99 {
            starts += 1
            var calls = 0
            var next = rotation(filled.folder)
            next.after = { step in
                calls += 1
                // After the last step there is nothing left to redo.
                if calls == 2, step != .keyPlaced { throw Killed() }
            }
            do { _ = try next.run() } catch { continue }
            break
        }

        #expect(starts > 8 && starts < 99)
        try filled.expectWhole()
    }

    @Test func `the new key is on the disk before a row is encrypted with it`() throws {
        let filled = try FilledStore()
        let former = try Cipher(key(in: filled.folder))
        let before = try opened(filled.folder, by: former)
        var seen: [[String]] = []
        var change = rotation(filled.folder)
        change.after = { step in
            guard step == .begun || step == .rowsDone || step == .logEmptied else { return }
            seen.append(filled.folder.names.filter { $0.hasPrefix("keys/master.key") })
            guard step == .begun else { return }
            let count = try opened(filled.folder, by: former, access: .readOnly)
            #expect(count == before)
        }

        _ = try change.run()

        #expect(
            seen == [[String]](repeating: ["keys/master.key", "keys/master.key.new"], count: 3))
    }

    @Test func `a key that is elsewhere is changed by naming the new one`() throws {
        let filled = try FilledStore(firstKey)
        let elsewhere = StateFolder()
        elsewhere.write(Array(String(repeating: "aa", count: 32).utf8), to: "new.key")
        let place = NewKey.file("\(elsewhere.path)/new.key")

        let refusal = #expect(throws: HealthStoreError.self) {
            try rotation(filled.folder, firstKey).run()
        }
        let report = try rotation(filled.folder, to: place, firstKey).run()

        #expect(
            refusal?.description
                == "the master key is in the variable `CLARITY_JOBS_KEY`, where this program does "
                + "not write; make a new one and name it with --new-key-file or "
                + "--new-key-variable")
        #expect(report.placeToFill == "the variable `CLARITY_JOBS_KEY`")
        let error = #expect(throws: HealthStoreError.self) { try filled.folder.open(firstKey) }
        #expect(error?.description.hasSuffix("was encrypted with another master key") == true)
        #expect(filled.folder.names == ["health.db", "health.lock", "login"])
        try filled.expectWhole(secondKey)
    }

    @Test func `a change with a given key is finished with the same one and no other`() throws {
        let filled = try FilledStore(firstKey)
        let given = firstKey.merging(["NEXT": String(repeating: "aa", count: 32)]) { $1 }
        var change = rotation(filled.folder, to: .variable("NEXT"), given)
        change.after = { if $0 == .portion { throw Killed() } }
        #expect(throws: HealthStoreError.self) { try change.run() }
        let path = "\(filled.folder.path)/health.db"

        let without = #expect(throws: HealthStoreError.self) {
            try rotation(filled.folder, firstKey).run()
        }
        let other = #expect(throws: HealthStoreError.self) {
            try rotation(
                filled.folder, to: .variable("NEXT"),
                firstKey.merging(["NEXT": String(repeating: "bb", count: 32)]) { $1 }
            ).run()
        }
        let report = try rotation(filled.folder, to: .variable("NEXT"), given).run()

        #expect(
            without?.description
                == "a change of the master key of `\(path)` was cut short; name its new key again "
                + "with --new-key-file or --new-key-variable")
        #expect(
            other?.description
                == "a change of the master key of `\(path)` was cut short, and its new key was "
                + "another one than is given now")
        #expect(report.resumedFrom == noon)
        try filled.expectWhole(secondKey)
    }

    @Test func `a rotation can be finished after the new key was put in too early`() throws {
        let stops: [(KeyRotation.Step, Bool)] = [(.portion, false), (.rowsDone, true)]
        for (stop, isEnough) in stops {
            let filled = try FilledStore(firstKey)
            let next = ["NEXT": String(repeating: "aa", count: 32)]
            var change = rotation(
                filled.folder, to: .variable("NEXT"), firstKey.merging(next) { $1 })
            change.after = { if $0 == stop { throw Killed() } }
            #expect(throws: HealthStoreError.self) { try change.run() }
            let early = rotation(
                filled.folder, to: .variable("NEXT"), secondKey.merging(next) { $1 })

            if isEnough {
                #expect(try early.run().placeToFill == nil)
            } else {
                let error = #expect(throws: HealthStoreError.self) { try early.run() }
                #expect(
                    error?.description
                        == "a change of the master key of `\(filled.folder.path)/health.db` was cut "
                        + "short, and the former key is needed once more; put it back until "
                        + "`clarity-jobs key rotate` has ended")
                _ = try rotation(
                    filled.folder, to: .variable("NEXT"), firstKey.merging(next) { $1 }
                ).run()
            }
            try filled.expectWhole(secondKey)
        }
    }

    @Test func `a key that moves out of its file leaves none behind`() throws {
        let filled = try FilledStore()
        let given = ["NEXT": String(repeating: "aa", count: 32)]
        var stops: [FilledStore] = []
        var change = rotation(filled.folder, to: .variable("NEXT"), given)
        change.after = { _ in stops.append(filled.copy()) }

        let report = try change.run()

        #expect(report.placeToFill == "a credential or a variable")
        #expect(filled.folder.names == ["health.db", "health.lock", "login"])
        try filled.expectWhole(secondKey)
        for stop in stops {
            _ = try rotation(stop.folder, to: .variable("NEXT"), given).run()
            #expect(stop.folder.names == ["health.db", "health.lock", "login"])
            try stop.expectWhole(secondKey)
        }
    }

    @Test func `what a change lacks is said, and nothing is written`() throws {
        let filled = try FilledStore(firstKey)
        let before = filled.folder.digests
        let none = "\(filled.folder.path)/none"

        for (key, environment, text) in [
            (NewKey.file(none), firstKey, "there is no new master key in `\(none)`"),
            (
                .variable("NEXT"), firstKey,
                "the variable `NEXT`, named for the master key, is not set"
            ),
            (
                .variable("A=B"), firstKey,
                "the variable named for the master key has no name of a variable"
            ),
            (.variable("CLARITY_JOBS_KEY"), firstKey, "the new master key is the present one"),
            (
                .made, secondKey,
                "`\(filled.folder.path)/health.db` was encrypted with another master key"
            ),
        ] {
            let error = #expect(throws: HealthStoreError.self) {
                try rotation(filled.folder, to: key, environment).run()
            }
            #expect(error?.description == text)
            #expect(error?.failure.category == .configuration)
        }

        #expect(filled.folder.digests == before)
        let nothing = StateFolder()
        let error = #expect(throws: HealthStoreError.self) { try rotation(nothing).run() }
        #expect(
            error?.description
                == "there is no `\(nothing.path)/health.db` yet, so there is no master key to change"
        )
        #expect(nothing.names == [])
    }

    @Test func `nobody else uses the health data meanwhile`() throws {
        let filled = try FilledStore()
        var user: HealthStore? = try filled.folder.open()
        let path = "\(filled.folder.path)/health.db"

        let inUse = #expect(throws: HealthStoreError.self) {
            try rotation(filled.folder, patience: .zero).run()
        }
        let isUsed = user != nil
        user = nil
        let lock = try StoreLock.alone(
            of: HealthFile(in: filled.folder.path), patience: .seconds(60))
        let rotating = #expect(throws: HealthStoreError.self) {
            try StoreLock.share(
                of: HealthFile(in: filled.folder.path), makesFile: false, patience: .zero)
        }
        withExtendedLifetime(lock) {}

        #expect(isUsed)
        #expect(
            inUse?.description
                == "`\(path)` is in use by other processes; try again when they have ended, or "
                + "stop the loop meanwhile")
        #expect(
            rotating?.description
                == "the master key of `\(path)` is being changed; try again when that has ended")
        #expect(inUse?.isBusy == true && rotating?.isBusy == true)
        #expect(rotating?.failure.category == .unreachable)
    }

    @Test func `a damaged row stays damaged and holds nothing up`() throws {
        let filled = try FilledStore()
        try filled.folder.open().sql(
            "UPDATE insights SET sealed = (SELECT sealed FROM insights WHERE id = 'b')")
        try filled.folder.open().sql("UPDATE audit SET sealed = zeroblob(60) WHERE number = 3")

        let report = try rotation(filled.folder).run()

        #expect(report.damaged == 2)
        let store = try filled.folder.open()
        #expect(try store.cache.rows(of: .insights, limit: 9).damaged.map(\.row) == ["a"])
        #expect(try store.cache.rows(of: .metrics, limit: 9).count == 2)
        #expect(try store.audit.verify().broken?.number == 3)
        #expect(try store.sessions.load() == filled.session)
    }

    @Test func `the status tells how far a change has come, and changes nothing`() throws {
        let filled = try FilledStore()
        var change = rotation(filled.folder)
        var portions = 0
        var isUnderWay = false
        change.after = { step in
            portions += step == .portion ? 1 : 0
            if portions == 4 {
                isUnderWay =
                    try KeyStatus.read(stateDirectory: filled.folder.path, environment: [:])?
                    .rotation?.isUnderWay == true
            }
            if portions == 5 { throw Killed() }
        }
        let whole = try KeyStatus.read(stateDirectory: filled.folder.path, environment: [:])
        #expect(throws: HealthStoreError.self) { try change.run() }
        let before = filled.folder.digests

        let status = try KeyStatus.read(stateDirectory: filled.folder.path, environment: [:])

        #expect(whole?.rotation == nil && whole?.changes == 0)
        #expect(whole?.place == "the file `\(filled.folder.path)/keys/master.key`")
        let found = try #require(status?.rotation)
        #expect(isUnderWay)
        #expect(found.begunAt == noon && !found.isUnderWay)
        #expect(found.newRows > 4 && found.formerRows > 10)
        #expect(filled.folder.digests == before)
        let nothing = StateFolder()
        #expect(try KeyStatus.read(stateDirectory: nothing.path, environment: [:]) == nil)
    }
}
