import ClarityHost
import ClarityScheduler
@preconcurrency import Glibc

/// Measures how soon an external change starts the run that waits for it.
///
/// The network part needs its own network namespace: `unshare --net`.
struct Reaction {
    private let surroundings: Surroundings
    private let rounds = 20

    init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    func measure() throws -> Section {
        var section = Section(title: "A change acts at once")
        section.notes = [
            "`clarity-jobs loop` as it is; \(rounds) changes each. From just before the change is made "
                + "until the first instruction of the attempt's process, by the machine's clock; median "
                + "(least..most)."
        ]
        if access("/proc/self/ns/net", F_OK) == 0, getenv("BENCHMARK_OWN_NETWORK") != nil {
            section.add(figure("a default route, for `network: any`", try network()))
            section.notes.append(
                "The route is added by `ip route add`, whose own start counts; the job waits since its "
                    + "occurrence of some 300 ms ago and has its next more than a second later.")
        } else {
            section.notes.append("No network namespace may be made here: no route was changed.")
        }
        section.add(figure("a new source, for `on: source-changed`", try source()))
        return section
    }

    private func figure(_ what: String, _ measured: Measurement) -> Section.Figure {
        Section.Figure(
            what: what, value: measured.fullText("ms"), target: "at most 100 ms",
            isMet: measured.most <= 100)
    }

    /// Measures a job that is due every two seconds, and waits until there is a route.
    private func network() throws -> Measurement {
        for words in [
            "link add cable0 type veth peer name cable1", "address add 10.77.0.1/24 dev cable0",
            "link set cable1 up", "link set cable0 up",
        ] { try ip(words) }
        let loop = try LoopUnderWatch(
            surroundings, "network",
            [
                "{ id: waiting, kind: refresh, schedule: { every: 2s }, constraints: { network: any } }"
            ])
        defer { loop.end() }
        guard let job = JobID("waiting") else { throw Trouble("no id") }
        return Measurement(
            try (0..<rounds).map { _ in
                try loop.wait("a run that waits") {
                    try RunHistory(inDirectory: loop.state).runs(of: job, limit: 1).first?.state
                        == .enqueued
                }
                pause(milliseconds: 300)
                let late = try loop.time { try ip("route add default via 10.77.0.2") }
                try ip("route del default")
                return late
            })
    }

    /// Measures a job that runs only when its source is replaced.
    private func source() throws -> Measurement {
        let loop = try LoopUnderWatch(
            surroundings, "source", ["{ id: importing, kind: bulk-upload, on: [source-changed] }"])
        defer { loop.end() }
        pause(milliseconds: 1000)
        return Measurement(
            try (0..<rounds).map { round in
                try write("export \(round)", to: "\(loop.source).new")
                let late = try loop.time {
                    guard rename("\(loop.source).new", loop.source) == 0 else {
                        throw Trouble("cannot replace the source")
                    }
                }
                pause(milliseconds: 200)
                return late
            })
    }

    private func ip(_ words: String) throws {
        try Child.run(["ip"] + words.split(separator: " ").map(String.init))
    }
}

/// A loop whose workers record when they start.
private final class LoopUnderWatch {
    let state: String
    let source: String
    private let starts: String
    private let loop: Child

    init(_ surroundings: Surroundings, _ name: String, _ jobs: [String]) throws {
        let folder = try surroundings.makeFolder("reaction-\(name)")
        state = "\(folder)/state"
        source = "\(folder)/export.xml"
        starts = "\(folder)/starts.txt"
        try write("export", to: source)
        try write("", to: starts)
        try write(JobFileText.jobs(jobs, source: source), to: "\(folder)/jobs.yaml")
        // The program looks for its worker beside itself; here that is the worker that records its
        // start.
        for name in ["clarity-jobs", "clarity-jobs-keeper"] {
            try Child.run(["cp", surroundings.program(name), "\(folder)/\(name)"])
        }
        try Child.run(
            ["cp", surroundings.program("benchmark-worker"), "\(folder)/clarity-jobs-worker"])
        loop = try Child(
            [
                "\(folder)/clarity-jobs", "loop", "--config", "\(folder)/jobs.yaml", "--state",
                state,
            ],
            adding: ["BENCHMARK_STARTS": starts], errors: "\(folder)/log.txt")
    }

    func end() {
        loop.send(SIGTERM)
        loop.wait()
    }

    /// Returns the milliseconds from just before `change` to the start of the next attempt.
    func time(_ change: () throws -> Void) throws -> Double {
        let known = try text(of: starts).split(separator: "\n").count
        let before = wallMilliseconds()
        try change()
        var last: Double?
        try wait("an attempt") {
            let lines = try text(of: starts).split(separator: "\n")
            if lines.count > known { last = Double(lines[known]) }
            return last != nil
        }
        return (last ?? 0) / 1_000_000 - before
    }

    /// Polls every 10 ms, for at most 10 s.
    func wait(_ what: String, until isThere: () throws -> Bool) throws {
        for _ in 0..<1000 {
            if try isThere() { return }
            pause(milliseconds: 10)
        }
        throw Trouble("waited in vain for \(what)")
    }
}
