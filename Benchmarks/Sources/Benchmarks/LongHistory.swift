@preconcurrency import Glibc

/// Measures queries of a history with a million runs.
struct LongHistory {
    private let surroundings: Surroundings
    private let rounds = 40
    private let few = 1000
    private let many = 1_000_000

    init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    func measure() throws -> Section {
        let jobFile = "\(surroundings.folder)/history.yaml"
        try write(
            JobFileText.jobs(
                (0..<20).map { "{ id: job-\($0), kind: refresh, schedule: { every: 24h } }" }),
            to: jobFile)
        let large = try state(many)
        let small = try state(few)
        var questions: [(what: String, words: [String], limit: Double)] = [
            ("`history JOB`", ["history", "job-3"], 50),
            ("`history JOB` of a job whose runs are all old", ["history", "job-19"], 50),
            ("`list`", ["list"], 100),
        ]
        let program = surroundings.program("clarity-jobs")
        if try Child([program, "explain", "--help"], errors: "/dev/null").wait() == 0 {
            questions.append(("`explain JOB`", ["explain", "job-3"], 50))
        }
        let trials = try surroundings.timeInTurn(
            questions.flatMap { question in
                [large, small].map { state in
                    [program] + question.words + ["--config", jobFile, "--state", state]
                }
            }, rounds: rounds)
        var section = Section(title: "A history of 1,000,000 runs")
        for (index, question) in questions.enumerated() {
            let (own, other) = (trials[2 * index].milliseconds, trials[2 * index + 1].milliseconds)
            section.add(
                Section.Figure(
                    what: question.what, value: own.text("ms"),
                    beside: "1,000 runs: \(other.text("ms"))", ratio: own.median / other.median,
                    target: "at most \(decimal(question.limit)) ms",
                    isMet: own.median <= question.limit))
        }
        section.notes = [
            "From the program's start to its end; \(rounds) runs each, in turn, medians and quartiles. "
                + "Twenty jobs with attempts and deferrals (`SQL/history.sql`)."
        ]
        if questions.count == 3 { section.notes.append("This version has no `explain`.") }
        return section
    }

    /// Makes a state directory whose history has this many runs.
    private func state(_ runs: Int) throws -> String {
        let folder = try surroundings.makeFolder("history-\(runs)")
        // The program itself makes the tables.
        _ = try surroundings.store(folder)
        try Child.run([
            "/bin/sh", "-c", "exec \"$0\" \"$1\" \"$2\" < \"$3\"", surroundings.program("execute"),
            "\(folder)/history.db", String(runs), "\(surroundings.folder)/history.sql",
        ])
        return folder
    }
}
