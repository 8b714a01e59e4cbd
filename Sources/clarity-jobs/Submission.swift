import ClarityHost
import ClarityScheduler

extension Composition {
    /// The result of passing the user's request to the planner.
    struct Answer {
        var plan: Plan
        /// The ledger after the decision.
        var ledger: Ledger
    }

    /// Records what the user wants; a scheduler carries it out.
    ///
    /// The decision also records what is due now, but nothing starts here. A loop with the same
    /// state directory is notified at once.
    func submit(_ events: [Planner.Event], _ file: JobFile) throws(CommandFailure) -> Answer {
        let history = try store(file)
        let store = history.store
        var planner = planner(file, owner: history.owner, scope: .nothing)
        var answer = Answer(plan: Plan(), ledger: Ledger())
        let (clock, monitor) = (clock, conditions(file))
        try askingStore { () throws(RunStoreError) in
            try store.decide { ledger in
                answer.plan = planner.handle(
                    events, at: clock.moment,
                    conditions: monitor.conditions(of: ledger.accountsInNeed), ledger: ledger)
                return answer.plan.changes
            }
            answer.ledger = try store.ledger()
        }
        return answer
    }

    /// Returns the jobs that words of the command line name, each once.
    func jobs(named names: [String], in file: JobFile) throws(CommandFailure) -> [JobID] {
        var ids: [JobID] = []
        for name in names {
            let id = try job(named: name, in: file).id
            if !ids.contains(id) { ids.append(id) }
        }
        return ids
    }
}
