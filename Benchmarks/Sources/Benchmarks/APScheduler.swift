/// The Python peer: its scheduler with an SQLAlchemy store in a SQLite file, at the same instants.
struct APScheduler {
    let surroundings: Surroundings
    let python: String

    /// Returns `nil` if the peer could not be installed.
    init?(_ surroundings: Surroundings) {
        guard let python = surroundings.python else { return nil }
        self.surroundings = surroundings
        self.python = python
    }

    /// Measures for each job the milliseconds from its due instant until it was done and stored as
    /// done.
    func run(_ name: String, offsets: [Double]) throws -> Measurement {
        let output = "\(surroundings.folder)/\(name).txt"
        try Child.run(
            [
                python, "\(surroundings.folder)/apscheduler_peer.py",
                "\(surroundings.folder)/\(name).db", "2000",
            ] + offsets.map { String($0) }, output: output)
        let late = try text(of: output).split(separator: "\n").map { line in
            let instants = line.split(separator: " ").compactMap { Double($0) }
            guard instants.count == 2 else { throw Trouble("the peer wrote something else") }
            return instants[1] - instants[0]
        }
        guard late.count == offsets.count else { throw Trouble("the peer lost jobs") }
        return Measurement(late)
    }

    static let absence = "APScheduler could not be installed here and is missing beside these."
}
