@preconcurrency import Glibc

/// Measures the archive of many years: its size, what is read from it, and its export.
struct Records {
    private let surroundings: Surroundings
    private let folder: String
    private let exports: Exports
    private static let type = "HKQuantityTypeIdentifierHeartRate"
    private static let rounds = 9

    init(_ surroundings: Surroundings) throws {
        self.surroundings = surroundings
        folder = try surroundings.makeFolder("records")
        exports = try Exports(in: folder)
    }

    func measure() throws -> Section {
        setenv("CLARITY_JOBS_KEY", String(repeating: "0f", count: 32), 1)
        setenv("TZ", "America/New_York", 1)
        var section = Section(title: "The archive of 10,000,000 records")
        let decade = "\(folder)/decade"
        try make(decade, from: try exports.decade())
        try addSize(of: decade, to: &section)
        try addDays(of: decade, to: &section)
        try addMonth(of: decade, to: &section)
        let two = "\(folder)/two"
        try make(two, from: exports.whole)
        try addExport(of: two, to: &section)
        section.notes = [
            "A generated export of 10,000,000 records of 32 types, imported by the program; "
                + "at rest are the pages of the tables of the archive (`dbstat`), the sums of days "
                + "among them, beside the files of `export-data --format csv` in one stream through "
                + "`zstd -3`.",
            "By day: from the program's start to its end, the entry in the audit log included; DuckDB "
                + "computes number, least, mean, greatest, sum and time of each day from a Parquet file "
                + "of the same columns, and only its query counts, in a new process each time.",
            "A month raw: the archive's month decrypted and decoded, each time by a store that is open; "
                + "SQLite reads the same columns of the same records by an index on their start, each "
                + "time with the pages in its cache.",
            "The export writes a file for each type; `sqlite3` writes the rows of `export-data --format "
                + "sqlite` with `.mode csv`. \(Records.rounds) rounds in turn, medians (least..most).",
        ]
        return section
    }

    /// Returns a command of the program in words.
    private func words(_ state: String, _ words: [String]) -> [String] {
        [
            surroundings.program("clarity-jobs"), "--config", surroundings.shippedJobFile,
            "--state", state,
        ] + words
    }

    private func make(_ state: String, from export: String) throws {
        try Child.run(
            words(state, ["import", "--quiet", "--time-zone", "America/New_York", export]))
        try Child.run(words(state, ["export-data", "--quiet", "--out", "\(state).csv"]))
        try Child.run(
            words(
                state, ["export-data", "--quiet", "--format", "sqlite", "--out", "\(state).db"]))
    }

    /// Returns the numbers that a command of the shell writes.
    private func numbers(_ script: String) throws -> [Double] {
        let output = "\(folder)/numbers.txt"
        try Child.run(["/bin/sh", "-euc", script], output: output)
        return try text(of: output).split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    }

    private func number(_ script: String) throws -> Double {
        guard let number = try numbers(script).first else { throw Trouble("no number: \(script)") }
        return number
    }

    private func add(
        _ what: String, _ own: Measurement, _ name: String, _ beside: Measurement, _ unit: String,
        limit: Double, to section: inout Section
    ) {
        let ratio = own.median / beside.median
        section.add(
            Section.Figure(
                what: what, value: own.fullText(unit), beside: "\(name): \(beside.fullText(unit))",
                ratio: ratio, target: "at most \(decimal(limit)) times", isMet: ratio <= limit))
    }

    private func addSize(of state: String, to section: inout Section) throws {
        let own =
            try number(
                "sqlite3 -readonly \(state)/health.db "
                    + "\"SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'segment%'\"") / 1_000_000
        let csv = try number("cat \(state).csv/*.csv | zstd -3 -c | wc -c") / 1_000_000
        add(
            "at rest, all columns and the sums of days", Measurement([own]), "CSV under zstd -3",
            Measurement([csv]), "MB", limit: 0.6, to: &section)
        section.add(
            Section.Figure(
                what: "the same", value: "\(decimal(own)) MB", target: "at most 80 MB",
                isMet: own <= 80))
    }

    private func addDays(of state: String, to section: inout Section) throws {
        guard let python = surroundings.python else {
            section.notes.append("DuckDB could not be installed here.")
            return
        }
        let peer = "\(python) \(surroundings.folder)/duckdb_peer.py"
        let parquet = "\(folder)/type.parquet"
        try Child.run([
            "/bin/sh", "-euc", "\(peer) make \(state).csv/\(Records.type).csv \(parquet)",
        ])
        let beside = try (0..<Records.rounds).map { _ in try number("\(peer) ask \(parquet)") }
        let own = try surroundings.timeInTurn(
            [
                words(
                    state,
                    [
                        "records", Records.type, "--by", "day", "--since", "2010-01-01", "--output",
                        "csv",
                    ])
            ],
            rounds: Records.rounds)
        add(
            "`records HeartRate --by day`, eight years", own[0].milliseconds, "DuckDB on Parquet",
            Measurement(beside), "ms", limit: 0.3, to: &section)
    }

    private func addMonth(of state: String, to section: inout Section) throws {
        let plain = "\(folder)/plain.db"
        try Child.run([
            "/bin/sh", "-euc",
            """
            sqlite3 \(plain) "ATTACH '\(state).db' AS records; CREATE TABLE numbers AS SELECT \
            unixepoch(start) AS start_s, unixepoch(\\"end\\") AS end_s, unixepoch(created) AS created_s, \
            value, unit, source, source_version, device, metadata FROM records.HeartRate; \
            CREATE INDEX numbers_start ON numbers (start_s)"
            """,
        ])
        let own = try numbers(
            "\(surroundings.program("benchmark-records")) \(state) \(Records.type) \(Records.rounds)"
        )
        let beside = try numbers(
            "\(surroundings.program("month")) \(plain) \(Int(own[0])) \(Int(own[1])) \(Records.rounds)"
        )
        guard own[2] == beside[0] else {
            throw Trouble("the month has \(own[2]) records, and \(beside[0]) in SQLite")
        }
        add(
            "a month of it raw, \(Int(own[2])) records, in process",
            Measurement(own.dropFirst(3).map { $0 / 1000 }), "SQLite in the clear",
            Measurement(beside.dropFirst().map { $0 / 1000 }), "ms", limit: 0.5, to: &section)
    }

    private func addExport(of state: String, to section: inout Section) throws {
        let out = "\(folder)/out"
        let command = words(state, ["export-data", "--quiet", "--out", out])
        let trials = try surroundings.timeInTurn(
            [
                ["/bin/sh", "-euc", "rm -rf \(out); exec \(command.joined(separator: " "))"],
                [
                    "/bin/sh", "-euc",
                    """
                    for table in $(sqlite3 -readonly \(state).db \
                    "SELECT name FROM sqlite_schema WHERE type = 'table'"); do echo ".output \
                    \(folder)/$table.csv"; echo "SELECT * FROM \\"$table\\";"; done |
                    sqlite3 -readonly -header -cmd '.mode csv' \(state).db
                    """,
                ],
            ], rounds: Records.rounds)
        add(
            "`export-data --format csv` of 2,000,000 records", trials[0].milliseconds,
            "sqlite3's `.mode csv`", trials[1].milliseconds, "ms", limit: 1.5, to: &section)
    }
}
