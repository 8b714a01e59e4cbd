/// The peer from Python: its scheduler, its SQLAlchemy store in a SQLite file, the same instants.
struct APScheduler {
    private let surroundings: Surroundings
    private let python: String

    /// `nil` where it could not be installed.
    init?(_ surroundings: Surroundings) {
        guard let python = surroundings.python else { return nil }
        self.surroundings = surroundings
        self.python = python
    }

    /// Milliseconds from the instant at which each job was due until it was done and the store knew.
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
