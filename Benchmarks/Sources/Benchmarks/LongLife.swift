@preconcurrency import Glibc

/// Measures queries of ten years of a wearer's encrypted metrics.
struct LongLife {
    private let surroundings: Surroundings
    private let rounds = 20
    /// The number of metrics; `BENCHMARK_METRICS` overrides it.
    private let count: Int

    init(_ surroundings: Surroundings) {
        self.surroundings = surroundings
        count = Surroundings.number("BENCHMARK_METRICS") ?? 10_000_000
    }

    func measure() throws -> Section {
        // The programs and the program that fills the store use the same key.
        setenv("CLARITY_JOBS_KEY", String(repeating: "0f", count: 32), 1)
        setenv("TZ", "UTC", 1)
        let folder = try surroundings.makeFolder("metrics")
        let state = "\(folder)/state"
        try makeStore(state, folder)
        let floor = try surroundings.timeInTurn([program(["summary"], state)], rounds: rounds)[0]
        let plain = "\(folder)/plain.db"
        let now = Int(wallMilliseconds() / 1000)
        try Child.run([
            surroundings.program("metrics"), "\(state)/health.db", plain, String(count),
            String(now),
        ])
        let midnight = (now - now % 86_400) * 1000
        let questions = [
            Question(
                "`summary`: a day, all types", ["summary"],
                "SELECT type, measure, count(*), sum(value) FROM numbers WHERE at_ms >= "
                    + "\(midnight - 14 * 86_400_000) AND type IN ('activity_level', 'sleep_analysis') "
                    + "GROUP BY type, measure; "
                    + "SELECT type, measure, count(*), min(value), avg(value), max(value) "
                    + "FROM numbers WHERE at_ms >= \(midnight) AND type IN ('heart_rate', "
                    + "'blood_oxygen', 'respiratory_rate', 'heart_rate_variability') GROUP BY type",
                limit: 50),
            Question(
                "`metrics heart_rate --since 30d`", ["metrics", "heart_rate", "--since", "30d"],
                "SELECT at_ms / 86400000, count(*), min(value), avg(value), max(value) FROM numbers "
                    + "WHERE type = 'heart_rate' AND at_ms >= \(midnight - 29 * 86_400_000) "
                    + "GROUP BY 1", limit: 1000),
            Question(
                "`metrics sleep --since 365d`", ["metrics", "sleep", "--since", "365d"],
                "SELECT at_ms / 86400000, measure, count(*), sum(value) FROM numbers "
                    + "WHERE type = 'sleep_analysis' AND at_ms >= \(midnight - 364 * 86_400_000) "
                    + "GROUP BY 1, 2"),
            Question(
                "`metrics`: what there is", ["metrics"],
                "SELECT type, count(*), min(at_ms), max(at_ms) FROM numbers GROUP BY type"),
        ]
        let trials = try surroundings.timeInTurn(
            questions.flatMap { question in
                [
                    program(question.words, state),
                    [
                        "/bin/sh", "-c", "echo \"$2\" | exec \"$0\" \"$1\" 0",
                        surroundings.program("execute"), plain, question.query,
                    ],
                ]
            }, rounds: rounds)
        return section(questions, trials, floor)
    }

    private func program(_ words: [String], _ state: String) -> [String] {
        [surroundings.program("clarity-jobs")] + words
            + ["--config", surroundings.shippedJobFile, "--state", state]
    }

    private struct Question {
        var what: String
        var words: [String]
        var query: String
        var limit: Double?

        init(_ what: String, _ words: [String], _ query: String, limit: Double? = nil) {
            (self.what, self.words, self.query, self.limit) = (what, words, query, limit)
        }
    }

    private func section(_ questions: [Question], _ trials: [Trial], _ floor: Trial) -> Section {
        var section = Section(title: "Ten years of metrics, \(count) in all")
        for (index, question) in questions.enumerated() {
            let (own, peer) = (trials[2 * index].milliseconds, trials[2 * index + 1].milliseconds)
            section.add(
                Section.Figure(
                    what: question.what, value: own.text("ms"),
                    beside: "SQLite, unsealed: \(peer.text("ms"))",
                    ratio: own.median / peer.median,
                    target: question.limit.map { "at most \(decimal($0)) ms" } ?? "",
                    isMet: question.limit.map { own.median <= $0 }))
        }
        let ratio = trials[0].milliseconds.median / floor.milliseconds.median
        section.add(
            Section.Figure(
                what: "`summary` again: what the ten years cost",
                value: trials[0].milliseconds.text("ms"),
                beside: "with one sample: \(floor.milliseconds.text("ms"))", ratio: ratio,
                target: "at most 2 times", isMet: ratio <= 2))
        section.notes = [
            "From the program's start to its end, the entry in the audit log included; \(rounds) runs "
                + "each, in turn, medians and quartiles; with one sample before the others came. Each metric is sealed for its own row "
                + "(`C/metrics.c`); beside it the same numbers in a plain file with an index by type "
                + "and time, asked by a C program that writes nothing."
        ]
        return section
    }

    /// Lets the program itself make the store, with one sample.
    private func makeStore(_ state: String, _ folder: String) throws {
        let export = "\(folder)/export.xml"
        try write(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <HealthData locale="en_GB">
             <Record type="HKQuantityTypeIdentifierHeartRate" sourceName="Invented Watch" \
            unit="count/min" startDate="2016-01-01 08:00:00 +0000" \
            endDate="2016-01-01 08:00:00 +0000" value="61"/>
            </HealthData>

            """, to: export)
        try Child.run([
            surroundings.program("clarity-jobs"), "import", "--quiet", "--config",
            surroundings.shippedJobFile, "--state", state, export,
        ])
    }
}
