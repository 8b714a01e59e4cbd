@preconcurrency import Glibc

/// Measures the upload of an archive to a local FHIR server that stores nothing.
struct FHIRUploading {
    private let surroundings: Surroundings
    private let records = 100_000
    private let bundle = 200
    private let rounds = 9
    /// What is sent to a server that answers after `latency` milliseconds, in fewer rounds.
    private let distant = (records: 20_000, latency: 50, rounds: 3)

    init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    func measure() throws -> Section {
        // Each state directory has a key of its own, which is copied with it.
        unsetenv("CLARITY_JOBS_KEY")
        let folder = try surroundings.makeFolder("fhir")
        let near = try archive(of: records, in: folder)
        let far = try archive(of: distant.records, in: folder)
        let sink = try Sink(surroundings, "\(folder)/port")
        let farSink = try Sink(surroundings, "\(folder)/far", latency: distant.latency)
        defer {
            sink.end()
            farSink.end()
        }
        let own = surroundings.program("benchmark-upload")
        let peer = surroundings.program("upload")
        var taken = (own: [Double](), peer: [Double](), memory: [Double](), nothing: [Double]())
        for round in 0..<rounds {
            let state = "\(folder)/state-\(round)"
            try Child.run(["/bin/cp", "-a", near, state])
            let sent = try numbers(
                of: [own, "fhir", "\(sink.base)/fhir", String(records), state], folder)
            taken.own.append(sent[0] / 1000)
            taken.memory.append(sent[2] / 1024)
            // The same again has nothing new.
            let again = try numbers(of: [own, "fhir", "\(sink.base)/fhir", "0", state], folder)
            taken.nothing.append(again[1] / 1000)
            let made = try numbers(
                of: [peer, "\(sink.base)/fhir", "fhir", String(records), String(bundle)], folder)
            taken.peer.append(made[0] / 1000)
        }
        var walls = (own: [Double](), peer: [Double]())
        let count = String(distant.records)
        for round in 0..<distant.rounds {
            let state = "\(folder)/far-\(round)"
            try Child.run(["/bin/cp", "-a", far, state])
            walls.own.append(
                try numbers(of: [own, "fhir", "\(farSink.base)/fhir", count, state], folder)[1]
                    / 1000)
            walls.peer.append(
                try numbers(
                    of: [peer, "\(farSink.base)/fhir", "fhir", count, String(bundle)], folder)[1]
                    / 1000)
        }
        var section = Section(title: "A hundred thousand Observations to a FHIR server")
        section.add(
            figure(
                "processor time of the attempt", taken.own, taken.peer, "C, bundles made too",
                limit: 4))
        section.add(
            figure(
                "wall time, \(distant.latency) ms until each answer", walls.own, walls.peer,
                "C, one request at a time", limit: 0.35))
        let nothing = Measurement(taken.nothing)
        section.add(
            Section.Figure(
                what: "nothing new since the last run, no request",
                value: nothing.fullText("ms"), target: "at most 30 ms",
                isMet: nothing.median <= 30))
        let memory = Measurement(taken.memory)
        section.add(
            Section.Figure(
                what: "peak resident memory", value: memory.fullText("MiB"),
                target: "at most 64 MiB", isMet: memory.median <= 64))
        section.notes = [
            "\(records) heart rates of the archive, each an Observation, in bundles of \(bundle) over "
                + "plain HTTP to a server on this machine (`C/sink.c`) that answers each entry and keeps "
                + "nothing; processor time of the process, user and system, \(rounds) rounds in turn, "
                + "median (least..most).",
            "The C program (`C/upload.c`) makes the same bundles by libsodium, gmtime_r and snprintf, "
                + "posts them with libcurl, and reads no answer.",
            "With \(distant.latency) ms until each answer, \(distant.records) are sent, in "
                + "\(distant.rounds) rounds; the job has up to four bundles on their way.",
        ]
        return section
    }

    /// Makes an archive with so many heart rates, a minute apart; returns its state directory.
    private func archive(of count: Int, in folder: String) throws -> String {
        let path = "\(folder)/export-\(count).xml"
        guard let file = fopen(path, "we") else { throw Trouble("cannot write `\(path)`") }
        fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<HealthData locale=\"en_GB\">\n", file)
        for index in 0..<count {
            var seconds = time_t(1_577_836_800 + 60 * index)
            var parts = tm()
            gmtime_r(&seconds, &parts)
            var text = [CChar](repeating: 0, count: 64)
            strftime(&text, text.count, "%Y-%m-%d %H:%M:%S +0000", &parts)
            let date = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
            fputs(
                "<Record type=\"HKQuantityTypeIdentifierHeartRate\" sourceName=\"Invented Watch\" "
                    + "unit=\"count/min\" startDate=\"\(date)\" endDate=\"\(date)\" "
                    + "value=\"\(50 + index % 1000 / 10).\(index % 10)\"/>\n", file)
        }
        fputs("</HealthData>\n", file)
        fclose(file)
        let state = "\(folder)/archive-\(count)"
        try Child.run([
            surroundings.program("clarity-jobs"), "--config", surroundings.shippedJobFile,
            "--state", state, "import", "--quiet", "--time-zone", "UTC", path,
        ])
        return state
    }

    private func figure(
        _ what: String, _ own: [Double], _ peer: [Double], _ name: String, limit: Double
    ) -> Section.Figure {
        let (own, peer) = (Measurement(own), Measurement(peer))
        let ratio = own.median / peer.median
        return Section.Figure(
            what: what, value: own.fullText("ms"), beside: "\(name): \(peer.fullText("ms"))",
            ratio: ratio, target: "at most \(decimal(limit)) times", isMet: ratio <= limit)
    }

    /// Returns the numbers that a program writes.
    private func numbers(of words: [String], _ folder: String) throws -> [Double] {
        let output = "\(folder)/numbers.txt"
        try Child.run(words, output: output)
        let numbers = try text(of: output).split { $0.isWhitespace }.compactMap { Double($0) }
        guard numbers.count >= 2 else { throw Trouble("`\(words[0])` wrote something else") }
        return numbers
    }
}
