import ClarityScheduler
import Platform

/// A planner with many jobs and a store, in which a known number of jobs is due at each tick.
///
/// Time is simulated: one second passes between ticks. The runs that a tick starts end before the
/// next tick.
struct PlanningWorld {
    private var planner: Planner
    private let store: any RunStore
    private let base: Moment
    private var ticks: Int64 = 0

    /// Makes the jobs and their clocks; `due` jobs are due at each of the first `ticks` ticks.
    init(jobs count: Int, due: Int, ticks: Int, owner: String, store: any RunStore) throws {
        precondition(due * ticks <= count, "\(count) jobs are too few for \(ticks) ticks")
        self.store = store
        base = Moment(wall: SystemClock().now, elapsed: SystemClock().elapsed)
        let day = Duration.seconds(86_400)
        let jobs = (0..<count).compactMap { number in
            JobID("job-\(number)").map {
                Job(id: $0, kind: JobKind("nothing"), schedule: .every(day))
            }
        }
        planner = Planner(jobs: JobSet(jobs), owner: owner, maxParallel: 64, seed: 1)
        let base = base.wall
        try store.decide { _ in
            jobs.enumerated().map { number, job in
                let isDue = number < due * ticks
                let wait = isDue ? Duration.seconds(number / max(due, 1) + 1) : day / 2
                return .setClock(job.id, JobClock(anchor: base + wait - day, considered: base))
            }
        }
        // The first tick after reading a job file may depend on all jobs; later ticks may not.
        _ = try decide([.tick], at: base)
    }

    /// Makes one decision; returns its milliseconds, including the write, and the number of starts.
    mutating func tick() throws -> (milliseconds: Double, started: Int) {
        ticks += 1
        let now = base.wall + .seconds(ticks)
        let start = steadyMilliseconds()
        let plan = try decide([.tick], at: now)
        let end = steadyMilliseconds()
        var ends: [Planner.Event] = []
        for case .start(let order) in plan.acts {
            ends.append(.finished(order.run, AttemptEnd(.reported(.success))))
        }
        if !ends.isEmpty { _ = try decide(ends, at: now) }
        return (end - start, ends.count)
    }

    private mutating func decide(
        _ events: [Planner.Event], at wall: Instant
    ) throws(RunStoreError) -> Plan {
        var plan = Plan()
        let moment = Moment(wall: wall, elapsed: base.elapsed + (wall - base.wall))
        try store.decide { ledger in
            // Changes the planner in place: a copy would be duplicated at each tick, whatever is
            // due.
            plan = planner.handle(events, at: moment, conditions: Conditions(), ledger: ledger)
            return plan.changes
        }
        return plan
    }
}

/// A store that keeps only the ledger, in memory.
final class MemoryStore: RunStore {
    private var kept = Ledger()

    func tidy() {}
    func end() {}

    func decide(
        recalling starts: StartRecall?, _ decide: (Ledger) -> [LedgerChange]
    ) throws(RunStoreError) {
        kept.recall(starts, isStale: false) { _ in [] }
        for change in decide(kept) { kept.apply(change) }
    }

    func ledger(recalling starts: StartRecall?) throws(RunStoreError) -> Ledger { kept }
}
