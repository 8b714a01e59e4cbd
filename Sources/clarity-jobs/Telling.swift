import ClarityHost
import ClarityScheduler

extension Composition {
    /// What became of something that a person told the planner.
    struct Answer {
        var plan: Plan
        /// The ledger as the decision left it.
        var ledger: Ledger
    }

    /// Takes down what a person wants; others do it.
    ///
    /// What is due is taken down as well, since a decision is about now; nothing starts here. A loop
    /// on the same state hears of it at once.
    func tell(_ events: [Planner.Event], _ file: JobFile) throws(CommandFailure) -> Answer {
        let store = try store(file)
        var planner = planner(file, owner: store.leaseLock.owner, scope: .nothing)
        var answer = Answer(plan: Plan(), ledger: Ledger())
        let (clock, monitor) = (clock, conditions(file))
        try askingStore { () throws(RunStoreError) in
            try store.decide { ledger in
                answer.plan = planner.handle(
                    events, at: clock.moment, conditions: monitor.conditions(), ledger: ledger)
                return answer.plan.changes
            }
            answer.ledger = try store.ledger()
        }
        return answer
    }

    /// The jobs that words of the command line name, each once.
    func jobs(named names: [String], in file: JobFile) throws(CommandFailure) -> [JobID] {
        var ids: [JobID] = []
        for name in names {
            let id = try job(named: name, in: file).id
            if !ids.contains(id) { ids.append(id) }
        }
        return ids
    }
}
