import Synchronization

/// Carries out what a `Planner` decides: writes it down, starts and signals attempts, waits.
///
/// `run(until:)` may block its thread for as long as the store commits; give it an executor of its
/// own where others share the pool.
public struct Scheduler {
    /// When a scheduler returns.
    public enum End: Hashable, Sendable {
        /// When nothing runs and nothing may start now.
        case idle
        /// When it has been drained.
        case drained
    }

    /// What a scheduler leaves behind.
    public struct Report: Hashable, Sendable {
        /// The runs of which it started an attempt, in that order, each once.
        public var runs: [RunID] = []
        /// What was due at the end and waits.
        public var waiting: [Plan.Waiting] = []
    }

    private var planner: Planner
    private let store: any RunStore
    private let worker: any Worker
    private let monitor: any ConditionMonitor
    private let clock: any WallClock
    private let observer: Observer

    /// Hears each change once it is durable.
    public typealias Observer = @Sendable (LedgerChange) -> Void

    /// Creates a scheduler.
    public init(
        planner: Planner, store: any RunStore, worker: any Worker,
        monitor: any ConditionMonitor, clock: any WallClock,
        observer: @escaping Observer = { _ in }
    ) {
        self.planner = planner
        self.store = store
        self.worker = worker
        self.monitor = monitor
        self.clock = clock
        self.observer = observer
    }

    /// Decides and acts until the end that is asked for.
    ///
    /// `first` are the events to begin with, `events` those that come later. `drain` starts nothing
    /// more: running attempts are warned, then killed, and what they leave is recorded.
    ///
    /// - Throws: `RunStoreError` when the store fails; running attempts are killed first, and their
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
                        let worker = worker
                        group.addTask {
                            let end = await worker.run(order, signals: signals) { _, _ in
                                inbox.leave(.progressed(order.run, at: clock.elapsed))
                            }
                            inbox.post(.finished(order.run, end))
                        }
                    }
                }
                report.waiting = plan.waiting
                if plan.isIdle, isDraining || end == .idle { break }
                // Most of the looks that cron asks for find nothing due and need no ear. What
                // changed before there was one is seen by another look.
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
        // A store that fails ends the scheduler, so that nothing has to be taken back.
        try store.decide { ledger in
            plan = planner.handle(
                events, at: clock.moment, conditions: monitor.conditions(), ledger: ledger)
            return plan.changes
        }
        plan.changes.forEach(observer)
        return plan
    }
}

extension AsyncStream {
    /// A stream without elements that has ended.
    public static var finished: AsyncStream { AsyncStream { $0.finish() } }
}
