import ClarityHost
import ClarityScheduler
import Platform
import Synchronization

/// Jobs that are each due once at a given instant, run by the whole engine: the scheduler, the
/// SQLite store with `synchronous=FULL`, and the machine's own conditions.
struct Workload {
    /// The instants at which jobs are due, in milliseconds after the first.
    var offsets: [Double]
    /// Makes the worker.
    var makeWorker: (SQLiteRunStore) -> any Worker = { _ in InstantWorker() }

    /// The milliseconds after each job's due instant.
    struct Lateness {
        /// Until the claim was durable, after which the work starts.
        var started: Measurement
        /// Until the completion was durable.
        var completed: Measurement
    }

    func run(_ state: String, _ surroundings: Surroundings) async throws -> Lateness {
        let store = try surroundings.store(state)
        return try await run(
            on: store, owner: store.leaseLock.owner, worker: makeWorker(store), state)
    }

    /// Runs the jobs with a store of either engine.
    func run(
        on store: any RunStore, owner: String, worker: any Worker, _ state: String
    ) async throws -> Lateness {
        // Leaves time to see a thousand jobs for the first time and to write their clocks.
        let first = SystemClock().now + .seconds(2)
        let jobs = offsets.enumerated().compactMap { number, offset in
            JobID("job-\(number)").map {
                Job(
                    id: $0, kind: JobKind("nothing"),
                    schedule: .at(first + .milliseconds(Int64(offset))))
            }
        }
        let (events, continuation) = AsyncStream.makeStream(of: Planner.Event.self)
        let watch = Stopwatch(count: jobs.count) { continuation.yield(.drain) }
        var scheduler = Scheduler(
            planner: Planner(
                jobs: JobSet(jobs), owner: owner, maxParallel: 1000, seed: 1),
            store: store, worker: worker,
            monitor: HostConditions(stateDirectory: state), clock: SystemClock(),
            observer: { watch.hear($0) })
        _ = try await scheduler.run(until: .drained, events: events)
        return try watch.lateness()
    }
}

/// A worker in this process with nothing to do.
struct InstantWorker: Worker {
    func run(
        _ order: AttemptOrder, signals: AsyncStream<AttemptSignal>,
        progress: @escaping @Sendable (Int64, Int64) -> Void
    ) async -> AttemptEnd {
        AttemptEnd(.reported(.success))
    }
}

/// Records when the start and the end of each run became durable.
private final class Stopwatch: Sendable {
    private struct State {
        var started: [RunID: Double] = [:]
        var completed: [RunID: Double] = [:]
        var failures = 0
    }

    private let state = Mutex(State())
    private let count: Int
    private let whenAllEnded: @Sendable () -> Void

    init(count: Int, whenAllEnded: @escaping @Sendable () -> Void) {
        self.count = count
        self.whenAllEnded = whenAllEnded
    }

    func hear(_ change: LedgerChange) {
        guard case .put(let run) = change, run.state != .enqueued else { return }
        let late = wallMilliseconds() - Double(run.scheduledFor.millisecondsSince1970)
        let isLast = state.withLock { state in
            if run.state == .running {
                state.started[run.id] = late
            } else {
                state.completed[run.id] = late
                if run.state != .succeeded { state.failures += 1 }
            }
            return state.completed.count == count
        }
        if isLast { whenAllEnded() }
    }

    func lateness() throws -> Workload.Lateness {
        try state.withLock { state in
            guard state.failures == 0, state.completed.count == count else {
                throw Trouble("\(state.failures) of \(count) runs failed")
            }
            return Workload.Lateness(
                started: Measurement(Array(state.started.values)),
                completed: Measurement(Array(state.completed.values)))
        }
    }
}
