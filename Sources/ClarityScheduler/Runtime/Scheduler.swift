import Synchronization

/// Carries out the decisions of a `Planner`: writes changes, starts and signals attempts, waits.
///
/// `run(until:)` may block its thread for as long as the store commits; give it an executor of its
/// own if others share the pool.
public struct Scheduler {
    /// The condition under which a scheduler returns.
    public enum End: Hashable, Sendable {
        /// Nothing runs, and nothing may start now.
        case idle
        /// The scheduler has been drained.
        case drained
    }

    /// The result of a scheduler's run.
    public struct Report: Hashable, Sendable {
        /// The runs of which an attempt was started, in the order of first starts, each once.
        public var runs: [RunID] = []
        /// The due runs that still wait at the end.
        public var waiting: [Plan.Waiting] = []
    }

    private var planner: Planner
    private let store: any RunStore
    private let worker: any Worker
    private let monitor: any ConditionMonitor
    private let clock: any WallClock
    private let observer: Observer
    private let progress: ProgressObserver

    /// Receives each change once it is durable, but for those of runs outside the planner's scope.
    public typealias Observer = @Sendable (LedgerChange) -> Void

    /// Receives how many of how many units an attempt has done. Called on the attempt's thread.
    public typealias ProgressObserver =
        @Sendable (_ order: AttemptOrder, _ done: Int64, _ total: Int64) -> Void

    /// Creates a scheduler.
    public init(
        planner: Planner, store: any RunStore, worker: any Worker,
        monitor: any ConditionMonitor, clock: any WallClock,
        observer: @escaping Observer = { _ in },
        progress: @escaping ProgressObserver = { _, _, _ in }
    ) {
        self.planner = planner
        self.store = store
        self.worker = worker
        self.monitor = monitor
        self.clock = clock
        self.observer = observer
        self.progress = progress
    }

    /// Decides and acts until `end` is reached.
    ///
    /// `first` are the events to begin with, `events` those that come later. After the event
    /// `drain` the scheduler starts nothing more: it warns running attempts, then kills them, and
    /// records what they leave.
    ///
    /// - Throws: `RunStoreError` if the store fails; running attempts are killed first, and their
    ///   leases lapse.
    public mutating func run(
        until end: End, first: [Planner.Event] = [],
        events: AsyncStream<Planner.Event> = .finished
    ) async throws(RunStoreError) -> Report {
        let inbox = Inbox()
        let monitor = monitor
        let clock = clock
        var report = Report()
        var attempts: [RunID: AsyncStream<AttemptSignal>.Continuation] = [:]
        var failure: RunStoreError?
        var rest: Duration?
        inbox.post(.tick)
        first.forEach(inbox.post)
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await event in events { inbox.post(event) }
            }
            var isListening = false
            var isDraining = false
            while true {
                let taken = await inbox.take(within: rest, of: clock)
                isDraining = isDraining || taken.contains(.drain)
                for case .finished(let run, _) in taken { attempts[run] = nil }
                let plan: Plan
                do throws(RunStoreError) {
                    plan = try decide(taken)
                } catch {
                    failure = error
                    break
                }
                for act in plan.acts {
                    switch act {
                    case .signal(let run, let signal): attempts[run]?.yield(signal)
                    case .start(let order):
                        if !report.runs.contains(order.run) { report.runs.append(order.run) }
                        let (signals, continuation) = AsyncStream.makeStream(
                            of: AttemptSignal.self)
                        attempts[order.run] = continuation
                        let (worker, progress) = (worker, progress)
                        group.addTask {
                            let end = await worker.run(order, signals: signals) { done, total in
                                inbox.leave(.progressed(order.run, at: clock.elapsed))
                                progress(order, done, total)
                            }
                            inbox.post(.finished(order.run, end))
                        }
                    }
                }
                report.waiting = plan.waiting
                if plan.isIdle, isDraining || end == .idle { break }
                // Most runs from cron find nothing due and need no stream of changes. A second
                // decision notices what changed before the stream was opened.
                let isFirst = !isListening
                if isFirst {
                    isListening = true
                    let changes = monitor.changes()
                    group.addTask {
                        for await _ in changes { inbox.post(.conditionsChanged) }
                    }
                    inbox.post(.conditionsChanged)
                }
                if !plan.asks.isEmpty { monitor.ask(plan.asks) }
                if isFirst { continue }
                rest = plan.wakeAfter
                if plan.isIdle, rest.map({ $0 >= RunStoreRest.shortest }) ?? true { store.tidy() }
            }
            group.cancelAll()
        }
        if let failure { throw failure }
        return report
    }

    private mutating func decide(_ events: [Planner.Event]) throws(RunStoreError) -> Plan {
        var plan = Plan()
        let (monitor, clock) = (monitor, clock)
        monitor.prepare()
        // Before the decision, which holds the store.
        var events = events
        if let accounts = planner.accountsToLookAt(for: events, at: clock.moment) {
            events.append(.sourcesReached(monitor.withSources(accounts)))
        }
        // A failed store ends the scheduler, so the planner's state need not be rolled back.
        let starts = planner.recall(for: events, at: clock.now)
        try store.decide(recalling: starts) { ledger in
            plan = planner.handle(
                events, at: clock.moment, conditions: monitor.conditions(of: ledger.accountsInNeed),
                ledger: ledger)
            return plan.changes
        }
        plan.changes.filter(concerns).forEach(observer)
        return plan
    }

    /// Whether a change is about a run that this scheduler may start, or about no run. Each decision
    /// also enqueues, expires and rescues runs for other schedulers.
    private func concerns(_ change: LedgerChange) -> Bool {
        switch change {
        case .put(let run): planner.isInScope(run.id)
        case .putAttempt(let attempt): planner.isInScope(attempt.run)
        default: true
        }
    }
}

extension AsyncStream {
    /// A stream that has ended and has no elements.
    public static var finished: AsyncStream { AsyncStream { $0.finish() } }
}

/// Collects events from anywhere for one consumer, which takes all of them at once.
///
/// Taking all at once groups commits: the events that arrive while a decision is being written are
/// handled together in the next one.
final class Inbox: Sendable {
    private struct State {
        var events: [Planner.Event] = []
        /// Events for the next decision that do not wake the consumer.
        var left: [Planner.Event] = []
        var consumer: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func post(_ event: Planner.Event) {
        let consumer = state.withLock { state in
            state.events.append(event)
            defer { state.consumer = nil }
            return state.consumer
        }
        consumer?.resume()
    }

    /// Leaves an event to be taken together with the next one that wakes the consumer.
    func leave(_ event: Planner.Event) {
        state.withLock { state in
            // Only the latest progress of each attempt counts.
            if case .progressed(let run, at: _) = event {
                state.left.removeAll {
                    if case .progressed(run, at: _) = $0 { true } else { false }
                }
            }
            state.left.append(event)
        }
    }

    /// Waits until there is at least one event, then takes all; posts a tick after `span` without
    /// one.
    func take(within span: Duration?, of clock: any WallClock) async -> [Planner.Event] {
        guard let span else { return await take() }
        // The timer has a task group of its own: once another event has come, the timer must be
        // cancelled, and a group cannot cancel a single child.
        return await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await clock.sleep(for: span)
                if !Task.isCancelled { self.post(.tick) }
            }
            defer { group.cancelAll() }
            return await take()
        }
    }

    /// Waits until there is at least one event, then takes all.
    func take() async -> [Planner.Event] {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                precondition(state.consumer == nil, "an inbox has one consumer, got a second")
                if state.events.isEmpty { state.consumer = continuation }
                return !state.events.isEmpty
            }
            if isReady { continuation.resume() }
        }
        return state.withLock { state in
            defer { (state.left, state.events) = ([], []) }
            return state.left + state.events
        }
    }
}
