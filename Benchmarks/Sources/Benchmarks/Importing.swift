@preconcurrency import Glibc

/// Measures the import of an Apple Health export into the encrypted outbox.
struct Importing {
    private let surroundings: Surroundings
    private let exports: Exports
    private let folder: String
    private let rounds = 3

    /// - Throws: `Trouble` if there is no generator of exports.
    init(_ surroundings: Surroundings) throws {
        self.surroundings = surroundings
        folder = try surroundings.makeFolder("import")
        exports = try Exports(in: folder)
    }

    func measure() throws -> Section {
        var runs: [Run: [Timing]] = [:]
        for round in 0..<rounds {
            let state = try surroundings.makeFolder("import/state-\(round)")
            runs[.first, default: []].append(try importing(exports.whole, state))
            runs[.inserter, default: []].append(try inserting(state, round, rows: 2_000_000))
            runs[.queue, default: []].append(try inserting(state, round, rows: 403_163))
            let unsent = try surroundings.makeFolder("import/unsent-\(round)")
            runs[.unsent, default: []].append(
                try importing(exports.whole, unsent, ["--since", "2099-01-01"]))
            runs[.again, default: []].append(try importing(exports.retouched, state))
            runs[.shuffled, default: []].append(try importing(exports.shuffled, state))
            runs[.expat, default: []].append(
                try time([surroundings.program("expat"), exports.whole]))
            let zip = try surroundings.makeFolder("import/zip-\(round)")
            runs[.zip, default: []].append(try importing(exports.zip, zip))
            let weekly = try surroundings.makeFolder("import/weekly-\(round)")
            _ = try importing(exports.earlier, weekly)
            runs[.week, default: []].append(try importing(exports.later, weekly))
            let small = try surroundings.makeFolder("import/small-\(round)")
            runs[.small, default: []].append(try importing(exports.small, small))
            if let peer = surroundings.healthkitToSQLite {
                let database = "\(folder)/peer-\(round).db"
                runs[.peer, default: []].append(
                    try time([peer, "--silent", exports.zip, database]))
                unlink(database)
            }
            for path in [state, unsent, zip, weekly, small] { try Child.run(["rm", "-r", path]) }
        }
        return section(runs)
    }

    private enum Run {
        case first, inserter, queue, unsent, again, shuffled, expat, zip, week, small, peer
    }

    private struct Timing {
        var seconds: Double
        var peakMiB: Double
    }

    private func importing(
        _ file: String, _ state: String, _ options: [String] = []
    ) throws -> Timing {
        try time(
            [
                "/usr/bin/env", "CLARITY_JOBS_STATE=\(state)",
                "CLARITY_JOBS_CONFIG=\(surroundings.shippedJobFile)",
                surroundings.program("clarity-jobs"), "import", "--quiet",
                "--time-zone", "America/New_York",
            ] + options + [file])
    }

    /// The C program measures its own time, because it first reads the rows that it then writes.
    private func inserting(_ state: String, _ round: Int, rows: Int) throws -> Timing {
        let copy = "\(folder)/rows-\(round).db"
        let output = "\(folder)/rows.txt"
        try Child.run(
            [
                surroundings.program("insert"), "\(state)/health.db", copy, String(rows),
            ], output: output)
        for ending in ["", "-wal", "-shm"] { unlink(copy + ending) }
        guard
            let microseconds = try text(of: output).split(separator: " ").first.flatMap({
                Double($0)
            })
        else { throw Trouble("`insert` wrote something else") }
        return Timing(seconds: microseconds / 1_000_000, peakMiB: 0)
    }

    private func time(_ words: [String]) throws -> Timing {
        let output = "\(folder)/timed.txt"
        try Child.run([surroundings.program("timed"), "1", "--"] + words, output: output)
        let fields = try text(of: output).split(whereSeparator: \.isWhitespace).compactMap {
            Double($0)
        }
        guard fields.count == 3 else { throw Trouble("`timed` wrote something else") }
        return Timing(seconds: fields[1] / 1_000_000_000, peakMiB: fields[2] / 1024)
    }

    private func section(_ runs: [Run: [Timing]]) -> Section {
        func seconds(_ run: Run) -> Measurement? {
            runs[run].map { Measurement($0.map(\.seconds)) }
        }
        func peak(_ run: Run) -> Measurement? { runs[run].map { Measurement($0.map(\.peakMiB)) } }
        var section = Section(title: "An export of 2,000,000 records")
        func compare(
            _ what: String, _ own: Run, _ name: String, _ beside: Run, limit: Double? = nil
        ) {
            guard let own = seconds(own), let beside = seconds(beside) else { return }
            let ratio = own.median / beside.median
            section.add(
                Section.Figure(
                    what: what, value: own.fullText("s"),
                    beside: "\(name): \(beside.fullText("s"))", ratio: ratio,
                    target: limit.map { "at most \(decimal($0)) times" } ?? "",
                    isMet: limit.map { ratio <= $0 }))
        }
        compare(
            "first import, all records kept", .first, "C, inserts as many rows", .inserter, limit: 1
        )
        compare("the same", .first, "C, inserts the queued rows alone", .queue)
        compare("the same", .first, "read and archived, no row queued", .unsent)
        compare("the same", .first, "healthkit-to-sqlite", .peer, limit: 0.04)
        compare("from the zip", .zip, "from the xml", .first, limit: 1.3)
        compare("again, with a byte of its header changed", .again, "expat", .expat, limit: 0.26)
        compare("again, shuffled within types", .shuffled, "expat", .expat, limit: 0.4)
        compare(
            "a week later, 1 % more, other offset and pointers", .week, "expat", .expat, limit: 0.4)
        for (what, run) in [
            ("peak resident memory, 2,000,000 records", Run.first), ("the same from the zip", .zip),
            ("the same, 100,000 records", .small),
        ] {
            guard let peak = peak(run) else { continue }
            section.add(
                Section.Figure(
                    what: what, value: peak.fullText("MiB"), target: "at most 64 MiB",
                    isMet: peak.most <= 64))
        }
        section.notes = [
            "`clarity-jobs import` of a generated export (877 MB of xml, 44 MB zipped), from its start "
                + "to its end, each in a new state directory; \(rounds) rounds in turn, median "
                + "(least..most).",
            "The inserter (`C/insert.c`) writes 2,000,000 rows, those that the import queued again and "
                + "again at later times, into a table and indices as those of the outbox, "
                + "in transactions of as many rows, synced, with the same room for "
                + "the log and for pages; only its writing counts. `C/expat.c` asks expat for every attribute and keeps counts.",
            "healthkit-to-sqlite reads the zip and keeps its rows in the clear.",
        ]
        if runs[.peer] == nil {
            section.notes.append("healthkit-to-sqlite could not be installed here.")
        }
        return section
    }
}

/// The exports to read, made by the script that `CLARITY_EXPORT_GENERATOR` names.
///
/// They stay in the folder `CLARITY_BENCHMARK_EXPORTS` for the next time; without it they are in a
/// temporary folder.
struct Exports {
    private let folder: String

    var whole: String { "\(folder)/whole.xml" }
    var zip: String { "\(folder)/whole.zip" }
    /// The whole export with one byte changed in its header.
    var retouched: String { "\(folder)/retouched.xml" }
    /// The export without the last hundredth of its span.
    var earlier: String { "\(folder)/earlier.xml" }
    /// The whole export as the phone writes it in another time zone.
    var later: String { "\(folder)/later.xml" }
    var small: String { "\(folder)/small.xml" }
    /// The whole export with the records of each type in a random order.
    var shuffled: String { "\(folder)/shuffled.xml" }

    init(in work: String) throws {
        guard let generator = getenv("CLARITY_EXPORT_GENERATOR").map({ String(cString: $0) }),
            access(generator, R_OK) == 0
        else { throw Trouble("CLARITY_EXPORT_GENERATOR names no script that makes exports") }
        folder = getenv("CLARITY_BENCHMARK_EXPORTS").map { String(cString: $0) } ?? work
        let many = "2000000"
        for (path, words) in [
            (whole, ["--records", many, "--zip"]),
            (earlier, ["--records", many, "--until", "0.99"]),
            (later, ["--records", many, "--utc-offset=-0400", "--export-id", "2"]),
            (small, ["--records", "100000"]),
        ] where access(path, R_OK) != 0 {
            try Child.run(["python3", generator, "--out", path] + words)
        }
        if access(retouched, R_OK) != 0 { try retouch() }
        if access(shuffled, R_OK) != 0 {
            try Child.run(["python3", "\(work)/../shuffle.py", whole, shuffled])
        }
    }

    /// Returns the path of an export with ten million records.
    func decade() throws -> String {
        let path = "\(folder)/decade.xml"
        if access(path, R_OK) != 0, let generator = getenv("CLARITY_EXPORT_GENERATOR") {
            try Child.run([
                "python3", String(cString: generator), "--out", path, "--records", "10000000",
            ])
        }
        return path
    }

    private func retouch() throws {
        try Child.run(["cp", whole, retouched])
        guard let file = fopen(retouched, "r+e") else { throw Trouble("cannot change the copy") }
        defer { fclose(file) }
        var head = [UInt8](repeating: 0, count: 1 << 16)
        let count = fread(&head, 1, head.count, file)
        // Not the locale: the archive keeps it, so that another one is new content.
        let text = Array("HealthKit Export Version: ".utf8)
        guard
            let place = (0..<max(0, count - text.count)).first(where: {
                Array(head[$0..<$0 + text.count]) == text
            }), fseek(file, place + text.count, SEEK_SET) == 0, fputc(0x39, file) == 0x39
        else { throw Trouble("the generated export has no version to change") }
    }
}
