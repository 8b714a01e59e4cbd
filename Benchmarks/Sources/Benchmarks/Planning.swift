import ClarityHost
import ClarityScheduler

/// Measures whether the cost of a tick grows with the due jobs or with all jobs.
struct Planning {
    private let surroundings: Surroundings
    private let ticks = 40
    private let few = 1000
    private let many = 100_000

    init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    func measure() throws -> Section {
        var section = Section(title: "A tick with 100,000 jobs")
        for isDurable in [false, true] {
            for due in [0, 1, 10] {
                var small = try world(few, due, isDurable)
                var large = try world(many, due, isDurable)
                var (here, there): ([Double], [Double]) = ([], [])
                for _ in 0..<ticks {
                    there.append(try timeTick(&small, due))
                    here.append(try timeTick(&large, due))
                }
                let (own, other) = (Measurement(here), Measurement(there))
                let ratio = own.median / other.median
                section.add(
                    Section.Figure(
                        what: "\(due) due, \(isDurable ? "SQLite store" : "planner alone")",
                        value: own.text("ms"), beside: "1,000 jobs: \(other.text("ms"))",
                        ratio: ratio, target: "about 1 time", isMet: ratio <= 1.5))
            }
        }
        section.notes = [
            "A tick of the planner over a ledger in memory, and over the SQLite store with its commit; "
                + "\(ticks) ticks each, in turn, medians and quartiles. Met up to 1.5 times."
        ]
        return section
    }

    private func timeTick(_ world: inout PlanningWorld, _ due: Int) throws -> Double {
        let (time, started) = try world.tick()
        guard started == due else { throw Trouble("\(started) jobs started, not \(due)") }
        return time
    }

    private func world(_ jobs: Int, _ due: Int, _ isDurable: Bool) throws -> PlanningWorld {
        guard isDurable else {
            return try PlanningWorld(
                jobs: jobs, due: due, ticks: ticks, owner: "planning", store: MemoryStore())
        }
        let store = try surroundings.store(
            try surroundings.makeFolder("planning-\(jobs)-\(due)"))
        return try PlanningWorld(
            jobs: jobs, due: due, ticks: ticks, owner: store.leaseLock.owner, store: store)
    }
}
