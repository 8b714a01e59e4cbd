import ClarityScheduler
import ClarityTestSupport
import Database
import Testing

@testable import ClarityHost

@Suite(
    "A history in PostgreSQL",
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct ServerHistoryTests {
    /// Every table with rows of its own, besides `schema_version`.
    private static let tables: Set<String> = [
        "account_facts", "answer_totals", "attempt_machines", "attempt_outputs", "attempts",
        "boot_mark", "deferrals",
        "job_records", "machines", "occurrence_fates", "placements", "prune_mark", "runs",
        "writes",
        "missed_totals", "progress", "source_fingerprints", "totals", "wait_totals",
    ]

    /// Makes a history in which every table has a row.
    private func filled() async throws -> PostgresRunStoreBed {
        let bed = try await PostgresRunStoreBed()
        let (store, owner) = try bed.open()
        let job = try #require(JobID("a"))
        var run = try RunStoreConformance.runningRun(1, owner)
        let running = run
        var attempt = Attempt(
            run: run.id, number: 1, startedAt: .noon, result: .running, tally: Tally())
        let started = attempt
        attempt.result = .succeeded
        attempt.finishedAt = .noon
        attempt.tally["http_2xx"] = 3
        attempt.output = AttemptOutput(head: [1], leftOutBytes: 0, tail: [])
        let ended = attempt
        run.state = .succeeded
        run.lease = nil
        run.finishedAt = .noon
        let succeeded = run
        let wait = Deferral(
            .constraint, subject: "network", wanted: "yes", measured: "no", source: "test")
        try store.decide { _ in
            [
                .put(running), .putAttempt(started), .putAttempt(ended),
                .deferred(running.id, [wait], at: .noon),
                .recordOutcome(job, .skipped, first: .noon, latest: .noon, count: 1, run: nil),
                .setBoot("boot"),
                .placing(.place(Placement(run: running.id, number: 1, owner: "x"))),
                .placing(
                    .publish(
                        ClarityScheduler.Machine(
                            owner: owner, name: "x", places: 1, conditions: Conditions()))),
                .setSource(
                    "/x", SourceFingerprint(isFolder: false, files: 1, newestChange: 1)),
                .putFacts(
                    [AttemptFact("waiting", 1, at: .noon)], of: nil, at: .noon),
            ]
        }
        try ProgressRows(session(bed)).write("1 1 5 10 0 0\n", of: owner)
        try store.decide { _ in
            [.deferred(running.id, [], at: .noon + .seconds(5)), .put(succeeded)]
        }
        try store.decide { _ in
            [
                .recordOutcome(
                    job, .skipped, first: .noon + .seconds(1), latest: .noon + .seconds(2),
                    count: 2, run: nil),
                .prune(RetentionPolicy(), at: .noon),
            ]
        }
        return bed
    }

    private func session(_ bed: PostgresRunStoreBed) throws -> ServerConnection {
        try ServerConnection(bed.address, schema: "clarity_history")
    }

    @Test func `the tables are those that are known, and each has rows`() async throws {
        let own = try session(try await filled())
        let found = try own.all(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'clarity_history'"
        ) { $0.text(0) }

        #expect(Set(found) == Self.tables.union(["schema_version", "decisions", "lead"]))
        for table in Self.tables.sorted() {
            #expect(try own.integer("SELECT count(*) FROM \(table)") ?? 0 > 0, "\(table)")
        }
    }

    @Test func `each step of the file since the first server has an upgrade`() {
        #expect(historyMigrations.newest - 15 == ServerHistorySchema.schema.version - 18)
    }

    @Test func `a database without this version's history is refused`() async throws {
        let empty = try await PostgresServer.shared().makeDatabase()
        let none = #expect(throws: RunStoreError.self) {
            try PostgresRunStore(at: empty, owner: "a")
        }
        guard case .unusable(let text) = none else {
            Issue.record("\(String(describing: none))")
            return
        }
        #expect(text.contains("there is no history in this database; make it with"))

        let bed = try await PostgresRunStoreBed()
        try session(bed).run("UPDATE schema_version SET version = 99")
        let newer = #expect(throws: RunStoreError.self) { try bed.open() }
        guard case .otherVersion = newer else {
            Issue.record("\(String(describing: newer))")
            return
        }
        let stateless = await #expect(throws: RunStoreError.self) {
            let other = try await PostgresRunStoreBed()
            try session(other).run("DELETE FROM writes WHERE true")
            _ = try PostgresRunStore(at: other.address, owner: "a").ledger()
        }
        guard case .unusable(let text) = stateless else {
            Issue.record("\(String(describing: stateless))")
            return
        }
        #expect(text.contains("`writes` has no row"))
    }

    @Test(arguments: [
        ReachedSources.only([]), .only(accounts("b a")), .allBut([]), .allBut(accounts("a")),
    ])
    func `others read what a loop has published as it was`(sources: ReachedSources) async throws {
        let bed = try await PostgresRunStoreBed()
        let (store, owner) = try bed.open()
        let machine = ClarityScheduler.Machine(
            owner: owner, name: "nas", labels: ["clinic", "gpu"], places: 3,
            conditions: Conditions(metered: .init(true, source: "nas")), sources: sources)

        try store.decide { _ in [.placing(.publish(machine))] }

        let read = try #require(try RunHistory(at: bed.address).ledger().machines.first)
        #expect(read.name == "nas" && read.labels == ["clinic", "gpu"] && read.places == 3)
        #expect(read.conditions.metered.value == true)
        #expect(read.sources == sources)
    }

    private static func accounts(_ names: String) -> Set<AccountID> {
        Set(names.split(separator: " ").compactMap { AccountID(String($0)) })
    }

    @Test func `everybody sees how far an attempt is until it has ended`() async throws {
        let bed = try await PostgresRunStoreBed()
        let store = try PostgresRunStore(at: bed.address, owner: "working")
        let run = try RunStoreConformance.runningRun(1, store.owner)
        let history = try RunHistory(at: bed.address)
        let progress = AttemptProgress(
            done: 5, total: 10, since: .noon, at: .noon + .seconds(5))
        store.progress.note(progress, of: run.id, 1)
        store.progress.note(progress, of: RunID(11), 1)

        try store.decide { _ in [.put(run)] }
        let seen = try history.progress(of: run)
        let ofRetry = try ProgressRows(session(bed)).progress(of: run.id, 2)
        store.progress.remove(run.id)
        try store.decide { _ in [] }

        #expect(seen == progress)
        #expect(ofRetry == nil)
        #expect(try history.progress(of: run) == nil)
    }

    @Test func `what a killed loop has told counts no more, and the leader removes it`()
        async throws
    {
        let bed = try await PostgresRunStoreBed()
        let (store, owner) = try bed.open()
        let run = try RunStoreConformance.runningRun(1, owner)
        try store.decide { _ in
            [
                .put(run),
                .placing(
                    .publish(
                        ClarityScheduler.Machine(
                            owner: owner, name: "x", places: 1, conditions: Conditions()))),
            ]
        }
        try ProgressRows(session(bed)).write("1 1 5 10 0 0\n", of: owner)
        let history = try RunHistory(at: bed.address)
        let before = try history.progress(of: run)
        bed.end(owner)
        let after = try history.progress(of: run)

        let leader = try PostgresRunStore(
            at: bed.address, owner: "next", pulse: LoopPulse { $0() }, patience: .seconds(10))
        for await _ in leader.turn {}
        try leader.decide { _ in [] }

        #expect(before?.done == 5 && after == nil)
        for table in ["progress", "machines"] {
            #expect(try session(bed).integer("SELECT count(*) FROM \(table)") == 0, "\(table)")
        }
    }

    @Test func `the totals are those of a history in a file`() async throws {
        let bed = try await filled()
        let own = try session(bed)

        let totals = try own.all(
            "SELECT job_id, measure, label, number, sum_ms FROM totals ORDER BY measure"
        ) { "\($0.text(0)) \($0.text(1)) \($0.text(2)) \($0.integer(3)) \($0.integer(4))" }
        #expect(totals == ["a attempts 100 1 0", "a runs succeeded 1 0"])
        #expect(
            try own.all("SELECT class, number FROM answer_totals") {
                "\($0.text(0)) \($0.integer(1))"
            } == ["2xx 3"])
        #expect(
            try own.all("SELECT reason, sum_ms FROM wait_totals") {
                "\($0.text(0)) \($0.integer(1))"
            } == ["constraint 5000"])
        #expect(
            try own.all("SELECT fate, number FROM missed_totals") {
                "\($0.text(0)) \($0.integer(1))"
            } == ["skipped 3"])
    }
}
