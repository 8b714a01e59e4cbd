@preconcurrency import Glibc

/// Measures uploads of many metrics to a local server that stores nothing.
struct Uploading {
    private let surroundings: Surroundings
    private let metrics = 100_000
    private let batch = 100
    private let rounds = 9

    init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    func measure() throws -> Section {
        let folder = try surroundings.makeFolder("upload")
        let port = "\(folder)/port"
        let bodies = "\(folder)/bodies"
        let own = surroundings.program("benchmark-upload")
        let peer = surroundings.program("upload")
        try Child.run([own, "bodies", bodies, String(metrics), String(batch)])
        let sink = try Child([surroundings.program("sink"), port])
        defer {
            sink.send(9)
            sink.wait()
        }
        while access(port, 0) != 0 { pause(milliseconds: 5) }
        let base = "http://127.0.0.1:\(try text(of: port))"
        let url = "\(base)/health-data/upload"
        let counts = [String(metrics), String(batch)]
        var programs = [
            [peer, url, bodies], [own, "prepared", url, bodies, "0"], [own, base] + counts,
            [peer, url, "make"] + counts,
        ]
        if let python = surroundings.python {
            programs.append([python, "\(surroundings.folder)/upload_peer.py", url] + counts)
        }
        var times = programs.map { _ in [Double]() }
        var jobs: [Double] = []
        for round in 0..<rounds {
            for (index, program) in programs.enumerated() {
                times[index].append(try processorTime(program, folder))
            }
            let state = try surroundings.makeFolder("upload/state-\(round)")
            jobs.append(try processorTime([own, "job", base, String(metrics), state], folder))
        }
        return section(times.map { Measurement($0) }, Measurement(jobs))
    }

    private func section(_ times: [Measurement], _ job: Measurement) -> Section {
        let (prepared, transport, client, made) = (times[0], times[1], times[2], times[3])
        var section = Section(title: "A hundred thousand metrics uploaded")
        section.add(figure("processor time, bodies made on the way", client, prepared, limit: 1.3))
        section.add(figure("the same, beside C that makes its bodies too", client, made, "C"))
        if times.count > 4 {
            section.add(
                figure("the same, beside Python's httpx and json", client, times[4], "httpx"))
        }
        section.add(figure("the transport alone, bodies prepared", transport, prepared, "C"))
        section.add(figure("the whole job, from the sealed outbox to its receipts", job, prepared))
        section.notes = [
            "\(metrics) heart rates in requests of \(batch), one after the other, over plain HTTP to a "
                + "server on this machine (`C/sink.c`) that counts and keeps nothing; processor time of "
                + "the client's process, user and system, \(rounds) rounds in turn, median "
                + "(least..most).",
            "The C program (`C/upload.c`) posts bodies from memory with libcurl; with `make` it makes "
                + "the same bodies itself, by libsodium, gmtime_r and snprintf.",
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

    private func processorTime(_ words: [String], _ folder: String) throws -> Double {
        let output = "\(folder)/time.txt"
        try Child.run(words, output: output)
        guard
            let microseconds = try text(of: output).split(separator: " ").first.flatMap({
                Double($0)
            })
        else { throw Trouble("`\(words[0])` wrote something else") }
        return microseconds / 1000
    }
}
