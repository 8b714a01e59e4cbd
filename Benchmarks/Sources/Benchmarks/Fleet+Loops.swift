import ClarityHost
import ClarityScheduler
import Database
@preconcurrency import Glibc

// Several loops that share a database: how much they do together, how soon another loop starts what
// the leader places on it, and how soon a lost attempt is noticed.

extension Fleet {
    func measureLoops() throws -> Section {
        var section = Section(title: "Several loops")
        try measureStarts(&section)
        try measureTakeovers(&section)
        try measureThroughput(&section)
        section.notes.append(
            "Loops, server and commands share this machine; the server is on a Unix socket, with "
                + "`fsync`.")
        return section
    }

    /// Two loops, of which the first leads. Each has a label and a way to the server of its own.
    private struct Pair {
        let loops: [Child]
        let relays: [Child]

        func end() {
            for child in loops + relays {
                child.send(SIGCONT)
                child.send(SIGKILL)
                child.wait()
            }
        }
    }

    private static let names = ["one", "two"]

    /// Writes a job file for each of two machines.
    ///
    /// - Parameter jobs: the jobs, without a list's dash.
    private func writePair(_ name: String, _ address: ServerAddress, _ jobs: [String]) throws {
        for machine in Fleet.names {
            _ = try surroundings.makeFolder("fleet/\(name)-\(machine)")
            var own = address
            own.host = "\(folder)/\(name)-\(machine)"
            try write(
                "version: 1\nstore: { url: \"\(own.uri)\" }\nlabels: [\(machine)]\njobs:\n"
                    + jobs.map { "  - \($0)\n" }.joined(), to: "\(folder)/\(name)-\(machine).yaml")
        }
    }

    private func startPair(_ name: String, _ address: ServerAddress) throws -> Pair {
        let relays = try Fleet.names.map { machine in
            let place = "\(folder)/\(name)-\(machine)"
            unlink("\(place)/.s.PGSQL.5432")
            return try Child([
                "python3", "\(surroundings.folder)/relay.py", place, address.host,
            ])
        }
        var loops: [Child] = []
        for machine in Fleet.names {
            _ = try wait {
                access("\(folder)/\(name)-\(machine)/.s.PGSQL.5432", F_OK) == 0 ? true : nil
            }
            let place = "\(name)-\(machine)"
            loops.append(
                try Child(
                    clarity(place, ["loop"]), adding: key, errors: "\(folder)/\(place).log"))
            let count = loops.count
            _ = try wait {
                let running = try RunHistory(at: address).loops()
                return running.count == count && running.count(where: \.isStandby) == count - 1
                    ? true : nil
            }
        }
        return Pair(loops: loops, relays: relays)
    }

    // MARK: Starts

    private func measureStarts(_ section: inout Section) throws {
        let count = 300
        let address = try makeStore("starts").address
        let notes = "\(folder)/starts.txt"
        try write("", to: notes)
        try writePair(
            "starts", address,
            [
                "{ id: there, kind: command, machine: two, options: { command: "
                    + "[sh, -c, 'echo $CLARITY_RUN $(date +%s%N) >>\(notes)'] } }"
            ])
        let pair = try startPair("starts", address)
        defer { pair.end() }
        func starts() throws -> [[Double]] {
            try text(of: notes).split(separator: "\n")
                .map { $0.split(separator: " ").compactMap { Double($0) } }
        }
        for number in 1...count {
            try Child.run(clarity("starts-one", ["run", "there", "--ask"]))
            _ = try wait { try starts().count >= number ? true : nil }
        }
        let history = try RunHistory(at: address)
        let late = try starts().map { fields -> Double in
            guard fields.count == 2, let run = Int64(exactly: fields[0]),
                let decided = try history.attempts(of: RunID(run)).first?.startedAt
            else { throw Trouble("a start without an attempt") }
            return fields[1] / 1_000_000 - Double(decided.millisecondsSince1970)
        }
        let measured = Measurement(late)
        let share = measured.quantile(0.99)
        section.add(
            Section.Figure(
                what: "from the decision to a command's first instruction on another loop, p99",
                value:
                    "\(decimal(share)) ms (\(decimal(measured.median))..\(decimal(measured.most)))",
                target: "at most 60 ms", isMet: share <= 60))
        section.notes.append(
            "A start on another loop: \(count) runs of a job that is pinned to the machine of the "
                + "follower, asked for one after the other; from the beginning of the leader's "
                + "decision until `date` in the command has run; p99 (median..most).")
    }

    // MARK: Takeovers

    private enum Fault: String, CaseIterable {
        case killed, frozen
        case cutOff = "cut off"
    }

    private func measureTakeovers(_ section: inout Section) throws {
        let address = try makeStore("takeover").address
        try writePair(
            "takeover", address,
            Fleet.names.map { machine in
                "{ id: on-\(machine), kind: command, machine: \(machine), "
                    + "options: { command: [/bin/sleep, \"1000\"] }, "
                    + "retry: { attempts: 50, initial: 10s } }"
            })
        for (place, victim) in ["the leader", "a follower"].enumerated() {
            for fault in Fault.allCases {
                let times = try (0..<6).map { _ in try takeover(from: place, address, fault) }
                let measured = Measurement(times)
                section.add(
                    Section.Figure(
                        what: "takeover of an attempt of \(victim) that is \(fault.rawValue)",
                        value: measured.fullText("ms"), target: "at most 2500 ms",
                        isMet: measured.most <= 2500))
            }
        }
        section.notes.append(
            "A takeover: from the fault until the end of the lost attempt is in the history, which "
                + "of the leader's attempt is recorded by the next leader; 6 each, median "
                + "(least..most). Cut off: nothing passes between the loop and the server.")
    }

    private func takeover(
        from place: Int, _ address: ServerAddress, _ fault: Fault
    ) throws -> Double {
        let pair = try startPair("takeover", address)
        defer { pair.end() }
        let job = "on-\(Fleet.names[place])"
        try Child.run(clarity("takeover-one", ["run", job, "--ask"]))
        let attempt = try wait { try running(address) }
        let start = wallMilliseconds()
        switch fault {
        case .killed: pair.loops[place].send(SIGKILL)
        case .frozen: pair.loops[place].send(SIGSTOP)
        case .cutOff: pair.relays[place].send(SIGSTOP)
        }
        let end = try wait {
            try RunHistory(at: address).attempts(of: attempt.run)
                .first { $0.number == attempt.number }?.finishedAt
        }
        try Child.run(clarity("takeover-\(Fleet.names[1 - place])", ["cancel", job]))
        return Double(end.millisecondsSince1970) - start
    }

    private func running(_ address: ServerAddress) throws -> (run: RunID, number: Int)? {
        let history = try RunHistory(at: address)
        guard let run = try history.runs(of: nil, limit: 1).first, run.state == .running,
            let attempt = try history.attempts(of: run.id).last, attempt.finishedAt == nil
        else { return nil }
        return (run.id, attempt.number)
    }

    private func wait<Found>(_ look: () throws -> Found?) throws -> Found {
        let start = steadyMilliseconds()
        while steadyMilliseconds() - start < 30_000 {
            if let found = try look() { return found }
            usleep(5000)
        }
        throw Trouble("nothing came of the wait for a loop")
    }

    // MARK: Throughput

    /// `BENCHMARK_FLEET_RUNS` overrides the number of runs.
    private func measureThroughput(_ section: inout Section) throws {
        let runs = Surroundings.number("BENCHMARK_FLEET_RUNS") ?? 2000
        let rounds = 3
        var rates: [Int: [Double]] = [:]
        for round in 0..<rounds {
            for loops in [1, 4] {
                rates[loops, default: []].append(
                    try rate(of: loops, runs, "rate_\(round)_\(loops)"))
            }
        }
        let (four, one) = (Measurement(rates[4] ?? []), Measurement(rates[1] ?? []))
        let ratio = four.median / one.median
        section.add(
            Section.Figure(
                what: "\(runs) due runs of 250 ms, four loops", value: four.fullText("a second"),
                beside: "one loop: \(one.fullText("a second"))", ratio: ratio,
                target: "at least 3.2 times", isMet: ratio >= 3.2))
        section.notes.append(
            "The runs: jobs that are all due at once and run `sleep 0.25`, with `max_parallel: 4` for "
                + "each loop; by the history, from the first start to the last end; \(rounds) "
                + "rounds in turn, median (least..most).")
    }

    /// Returns how many runs a second some loops carry out.
    private func rate(of count: Int, _ runs: Int, _ name: String) throws -> Double {
        let (address, line) = try makeStore(name)
        let jobs = (0..<runs).map {
            "  - { id: j\($0), kind: command, schedule: { every: 30d }, "
                + "options: { command: [sleep, \"0.25\"] } }\n"
        }
        try write(
            "version: 1\n\(line)defaults: { max_parallel: 4 }\njobs:\n" + jobs.joined(),
            to: "\(folder)/\(name).yaml")
        let loops = try (0..<count).map { number in
            try Child(
                [
                    surroundings.program("clarity-jobs"), "loop", "--config",
                    "\(folder)/\(name).yaml", "--state", "\(folder)/\(name)-\(number)",
                ], adding: key, errors: "\(folder)/\(name)-\(number).log")
        }
        defer {
            for loop in loops {
                loop.send(SIGTERM)
                loop.wait()
            }
        }
        let admin = try ServerConnection(cluster.address(address.database, user: "admin"))
        let start = steadyMilliseconds()
        while try admin.integer(
            "SELECT count(*) FROM clarity_history.runs WHERE state = 'succeeded'")
            != Int64(runs)
        {
            guard steadyMilliseconds() - start < 600_000 else {
                throw Trouble("\(count) loops did not carry out \(runs) runs")
            }
            pause(milliseconds: 200)
        }
        let span = try admin.integer(
            "SELECT max(finished_at_ms) - min(started_at_ms) FROM clarity_history.attempts")
        return Double(runs) * 1000 / Double(span ?? 1)
    }
}
