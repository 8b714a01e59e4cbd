@preconcurrency import Glibc

/// Measures uploads of many metrics to a local server that stores nothing.
struct Uploading {
    private let surroundings: Surroundings
    private let metrics = 100_000
    private let batch = 100
    private let rounds = 9
    /// What is sent to a server that answers after `latency` milliseconds, in fewer rounds.
    private let distant = (metrics: 20_000, latency: 50, rounds: 3)

    init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    func measure() throws -> Section {
        let folder = try surroundings.makeFolder("upload")
        let bodies = "\(folder)/bodies"
        let own = surroundings.program("benchmark-upload")
        let peer = surroundings.program("upload")
        try Child.run([own, "bodies", bodies, String(metrics), String(batch)])
        let sink = try Sink(surroundings, "\(folder)/port")
        let farSink = try Sink(surroundings, "\(folder)/far", latency: distant.latency)
        defer {
            sink.end()
            farSink.end()
        }
        let (base, farBase) = (sink.base, farSink.base)
        let url = "\(base)/health-data/upload"
        let counts = [String(metrics), String(batch)]
        var programs = [
            [peer, url, bodies], [own, "prepared", url, bodies, "0"], [own, base] + counts,
            [peer, url, "make"] + counts,
        ]
        if let python = surroundings.python {
            programs.append([python, "\(surroundings.folder)/upload_peer.py", url] + counts)
        }
        var taken = programs.map { _ in [Double]() }
        var (jobs, rows) = ([Double](), [Double]())
        for round in 0..<rounds {
            for (index, program) in programs.enumerated() {
                taken[index].append(try times(of: program, folder).processor)
            }
            let state = try surroundings.makeFolder("upload/state-\(round)")
            jobs.append(
                try times(of: [own, "job", base, String(metrics), state], folder).processor)
            let files = ["\(state)/rows.db", "\(state)/health.db"]
            rows.append(try times(of: [peer, url, "queue"] + counts + files, folder).processor)
        }
        var walls: (own: [Double], peer: [Double]) = ([], [])
        let count = String(distant.metrics)
        for round in 0..<distant.rounds {
            let state = try surroundings.makeFolder("upload/far-\(round)")
            walls.own.append(try times(of: [own, "job", farBase, count, state], folder).wall)
            let words = [peer, "\(farBase)/health-data/upload", "make", count, String(batch)]
            walls.peer.append(try times(of: words, folder).wall)
        }
        return section(
            taken.map { Measurement($0) }, Measurement(jobs), Measurement(rows),
            (Measurement(walls.own), Measurement(walls.peer)))
    }

    private func section(
        _ times: [Measurement], _ job: Measurement, _ rows: Measurement,
        _ walls: (own: Measurement, peer: Measurement)
    ) -> Section {
        let (prepared, transport, client, made) = (times[0], times[1], times[2], times[3])
        var section = Section(title: "A hundred thousand metrics uploaded")
        section.add(figure("processor time, bodies made on the way", client, prepared))
        section.add(
            figure("the same, beside C that makes its bodies too", client, made, "C", limit: 1.6))
        if times.count > 4 {
            section.add(
                figure("the same, beside Python's httpx and json", client, times[4], "httpx"))
        }
        section.add(figure("the transport alone, bodies prepared", transport, prepared, "C"))
        section.add(
            figure(
                "the whole job, from the sealed outbox to its receipts", job, rows,
                "C, each sample a sealed row too", limit: 1.75))
        section.add(figure("the same", job, made, "C, bodies made alone"))
        section.add(
            figure("C, each sample a sealed row: the floor", rows, made, "C, bodies made alone"))
        section.add(
            figure(
                "the whole job, wall time, \(distant.latency) ms until each answer", walls.own,
                walls.peer, "C, one request at a time", limit: 0.35))
        section.notes = [
            "\(metrics) heart rates in requests of \(batch), over plain HTTP to a "
                + "server on this machine (`C/sink.c`) that counts and keeps nothing; processor time of "
                + "the client's process, user and system, \(rounds) rounds in turn, median "
                + "(least..most).",
            "With \(distant.latency) ms until each answer, \(distant.metrics) are sent, in "
                + "\(distant.rounds) rounds. The job has up to four requests under way, everything "
                + "else one.",
            "The C program (`C/upload.c`) posts bodies from memory with libcurl; with `make` it makes "
                + "the same bodies itself, by libsodium, gmtime_r and snprintf. With `queue` it takes "
                + "the samples out of a file with the product's tables, where each is a sealed row, "
                + "and records its batches and their answers as durably.",
        ]
        if times.count < 5 { section.notes.append("httpx could not be installed here.") }
        return section
    }

    private func figure(
        _ what: String, _ own: Measurement, _ peer: Measurement, _ name: String = "C, prepared",
        limit: Double? = nil
    ) -> Section.Figure {
        let ratio = own.median / peer.median
        return Section.Figure(
            what: what, value: own.fullText("ms"), beside: "\(name): \(peer.fullText("ms"))",
            ratio: ratio, target: limit.map { "at most \(decimal($0)) times" } ?? "",
            isMet: limit.map { ratio <= $0 })
    }

    /// Returns the times that a program reports, in milliseconds.
    private func times(
        of words: [String], _ folder: String
    ) throws -> (processor: Double, wall: Double) {
        let output = "\(folder)/time.txt"
        try Child.run(words, output: output)
        let numbers = try text(of: output).split { $0.isWhitespace }.compactMap { Double($0) }
        guard numbers.count == 2 else { throw Trouble("`\(words[0])` wrote something else") }
        return (numbers[0] / 1000, numbers[1] / 1000)
    }
}

/// A server on this machine that takes uploads and keeps nothing (`C/sink.c`).
struct Sink {
    /// The address before the paths of its API.
    let base: String
    private let child: Child

    /// Starts it.
    ///
    /// - Parameters:
    ///   - port: the file into which it writes its port.
    ///   - latency: the milliseconds until each answer.
    init(_ surroundings: Surroundings, _ port: String, latency: Int? = nil) throws {
        child = try Child(
            [surroundings.program("sink"), port] + (latency.map { [String($0)] } ?? []))
        while access(port, 0) != 0 { pause(milliseconds: 5) }
        base = "http://127.0.0.1:\(try text(of: port))"
    }

    func end() {
        child.send(9)
        child.wait()
    }
}
