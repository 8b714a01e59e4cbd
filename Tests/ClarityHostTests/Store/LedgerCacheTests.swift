@testable import ClarityHost
import ClarityScheduler
import ClarityTestSupport
import Database
import Testing

@Suite("The ledger that a store keeps")
struct LedgerCacheTests {
    /// A failure prints its seed; `arguments: [seed]` repeats it alone.
    @Test(arguments: UInt64(0)..<12)
    func `the cached ledger is the one in the file, whoever wrote last`(seed: UInt64) throws {
        let bed = try SQLiteRunStoreBed()
        var life = StoreLife(seed: seed)
        let stores = [try bed.open(), try bed.open()]
        let fresh = try FileConnection(path: "\(bed.path)/history.db")

        for step in 0..<120 {
            let (store, owner) = stores[life.index(of: stores)]
            // Sometimes the schema refuses a change, and with it the whole decision.
            let isRefused = life.isOne(in: 12)
            do {
                try store.decide { ledger in
                    life.changes(ledger, owner) + (isRefused ? life.nonsense : [])
                }
                #expect(!isRefused, "seed \(seed), step \(step)")
            } catch {
                #expect(isRefused, "seed \(seed), step \(step): \(error)")
            }
            for (store, owner) in stores where life.isOne(in: 2) {
                var read = LedgerCache()
                try read.refresh(
                    fresh, FilePeers(Leases(inDirectory: bed.path, ownOwner: owner)))
                #expect(try store.ledger() == read.ledger, "seed \(seed), step \(step)")
            }
        }

        let history = try RunHistory(inDirectory: bed.path)
        #expect(try history.audit(JobSet([])).filter(\.isOffence) == [], "seed \(seed)")
    }

    @Test func `a foreign lease is asked for each time, though nothing was written`() throws {
        let bed = try SQLiteRunStoreBed()
        let (mine, owner) = try bed.open()
        let (other, _) = try bed.open()
        var run = Run(
            id: RunID(1), job: try #require(JobID("a")), kind: JobKind("work"), trigger: .manual,
            scheduledFor: .noon, enqueuedAt: .noon)
        run.state = .running
        run.attempts = 1
        run.startedAt = .noon
        run.lease = Lease(owner: owner, state: .mine)
        let running = run
        try mine.decide { _ in [.put(running)] }

        let before = try other.ledger().open[run.id]?.lease?.state
        bed.end(owner)
        let after = try other.ledger().open[run.id]?.lease?.state

        #expect(before == .held)
        #expect(after == .lapsed)
    }
}

/// Draws random changes of every kind that fit a ledger.
struct StoreLife {
    private var random: SeededGenerator
    private var now = Instant.noon

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func isOne(in count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

    mutating func index(of elements: [some Any]) -> Int {
        Int.random(in: elements.indices, using: &random)
    }

    mutating func one<Element>(of elements: [Element]) -> Element {
        elements[index(of: elements)]
    }

    /// A change that every store refuses.
    var nonsense: [LedgerChange] {
        [.putAttempt(Attempt(run: RunID(1 << 40), number: 1, startedAt: .noon))]
    }

    mutating func changes(_ ledger: Ledger, _ owner: String) -> [LedgerChange] {
        now = now + .seconds(Int.random(in: 1...60, using: &random))
        let job = JobID(one(of: ["a", "b", "c", "d", "e"]))
        guard let job else { return [] }
        let open = ledger.openRuns(of: job).compactMap { ledger.open[$0] }
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return [.setClock(job, clock(of: job, ledger))]
        case 1:
            let until = isOne(in: 2) ? now + .seconds(60) : nil
            return [.setPause(job, isOne(in: 2) ? nil : Pause(since: now, until: until))]
        case 2: return [.prune(RetentionPolicy(), at: now)]
        case 3: return []
        case 4...5:
            var run = Run(
                id: ledger.nextRun, job: job, kind: JobKind("work"), trigger: .manual,
                scheduledFor: now, enqueuedAt: now, isExpedited: isOne(in: 2))
            run.notes = ["a note", ""]
            let outcome = LedgerChange.recordOutcome(
                job, one(of: OccurrenceOutcome.allCases), first: now, latest: now, count: 1,
                run: run.id)
            return [.put(run), .setClock(job, clock(of: job, ledger)), outcome]
        default:
            guard let run = open.first else { return [] }
            return run.state == .running
                ? changesOfRunning(run, owner) : changesOfWaiting(run, owner, ledger)
        }
    }

    private mutating func clock(of job: JobID, _ ledger: Ledger) -> JobClock {
        let known = ledger.jobs[job]?.clock
        let anchor = known?.anchor ?? now
        let isSetBack = isOne(in: 5)
        return JobClock(
            anchor: anchor, considered: isSetBack ? anchor : max(now, anchor),
            era: (known?.era ?? 0) + (isSetBack ? 1 : 0), schedule: "every 4h")
    }

    private mutating func changesOfRunning(_ run: Run, _ owner: String) -> [LedgerChange] {
        if isOne(in: 3) { return [.requestStop(run.id, one(of: StopReason.allCases))] }
        var run = run
        run.lease = nil
        run.stopRequest = nil
        run.checkpoint = "half"
        run.tally["done"] = 3
        let state: RunState = one(of: [.succeeded, .failed, .enqueued, .cancelled])
        run.state = state
        if state == .failed { run.failure = Failure(.work, "no") }
        if state.isFinished { run.finishedAt = now }
        let attempt = Attempt(
            run: run.id, number: run.attempts, startedAt: now, finishedAt: now,
            result: state == .succeeded ? .succeeded : .stopped)
        return [.put(run), .putAttempt(attempt)]
    }

    private mutating func changesOfWaiting(
        _ run: Run, _ owner: String, _ ledger: Ledger
    ) -> [LedgerChange] {
        var run = run
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            run.state = .skipped
            run.finishedAt = now
            return [.put(run)]
        case 1...2:
            let subjects = ["network", "idle", "battery_above"].shuffled(using: &random)
            let waits = subjects.prefix(Int.random(in: 0...3, using: &random)).map { subject in
                Deferral(
                    .constraint, subject: subject, wanted: "yes",
                    measured: one(of: ["no", "unknown"]), source: "test")
            }
            return [.deferred(run.id, waits, at: now)]
        default:
            guard
                !ledger.openRuns(of: run.job).contains(where: {
                    ledger.open[$0]?.state == .running
                })
            else { return [] }
            run.state = .running
            run.attempts += 1
            run.fencingToken += 1
            run.startedAt = run.startedAt ?? now
            run.lease = Lease(owner: owner, state: .mine)
            return [
                .put(run), .deferred(run.id, [], at: now),
                .putAttempt(Attempt(run: run.id, number: run.attempts, startedAt: now)),
            ]
        }
    }
}
