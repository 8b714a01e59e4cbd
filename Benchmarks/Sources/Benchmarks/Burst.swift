import ClarityScheduler

/// Measures a thousand jobs that are due at the same instant.
struct Burst {
    private let surroundings: Surroundings
    private let count = 1000
    private let rounds = 5

    init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    func measure() async throws -> Section {
        let workload = Workload(offsets: Array(repeating: 0, count: count))
        let peer = APScheduler(surroundings)
        var own: [Measurement] = []
        var others: [Measurement] = []
        for round in 0..<rounds {
            let state = try surroundings.makeFolder("burst-\(round)")
            own.append(try await workload.run(state, surroundings).completed)
            if let peer {
                others.append(try peer.run("apscheduler-burst-\(round)", offsets: workload.offsets))
            }
        }
        var section = Section(title: "A thousand jobs due in the same instant")
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("the last", 1)] {
            let here = Measurement(own.map { $0.quantile(share) })
            var figure = Section.Figure(
                what: "lateness, \(name)", value: here.fullText("ms"))
            if !others.isEmpty {
                let there = Measurement(others.map { $0.quantile(share) })
                figure.beside = "APScheduler: \(there.fullText("ms"))"
                figure.ratio = here.median / there.median
            }
            if share == 0.99 {
                figure.target = "at most 150 ms"
                figure.isMet = here.median <= 150
            }
            section.add(figure)
        }
        section.notes = [
            "Workers in the same process that do nothing; \(count) jobs, each claimed and completed "
                + "durably (`synchronous=FULL`). Lateness: from the due instant until the completion was "
                + "durable. \(rounds) rounds, in turn with the peer; median of the rounds (least..most).",
            peer == nil
                ? APScheduler.absence
                : "APScheduler runs a job in a thread and removes it from its store; it keeps no record "
                    + "of claims and ends. Its lateness is that of the later of the two.",
        ]
        return section
    }
}
