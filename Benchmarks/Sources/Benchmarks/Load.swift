import ClarityHost
import ClarityScheduler
@preconcurrency import Glibc

/// Measures what a loop stores, writes and computes for each run of a command, over 12 minutes.
struct Load {
    private let surroundings: Surroundings
    private let count = 200
    private let every = 15
    /// The length of the measurement; `BENCHMARK_LOAD_MINUTES` overrides it.
    private let minutes: Int

    init(_ surroundings: Surroundings) {
        self.surroundings = surroundings
        minutes = Surroundings.number("BENCHMARK_LOAD_MINUTES") ?? 12
    }

    func measure() throws -> Section {
        let state = try surroundings.makeFolder("load")
        let jobFile = "\(surroundings.folder)/load.yaml"
        let jobs = (0..<count).map {
            "{ id: job-\($0), kind: command, schedule: { every: \(every)s }, "
                + "options: { command: [/bin/true] } }"
        }
        try write(JobFileText.jobs(jobs), to: jobFile)
        let loop = try Child(
            [
                surroundings.program("clarity-jobs"), "loop", "--config", jobFile, "--state", state,
            ], errors: "\(surroundings.folder)/load.log")
        // The loop's own start does not count for any run.
        pause(milliseconds: 2000)
        let before = try loop.usage()
        let runsBefore = try runs(state)
        pause(milliseconds: minutes * 60_000)
        let after = try loop.usage()
        let runs = try runs(state) - runsBefore
        loop.send(SIGTERM)
        // 128 and the signal's number, as a loop ends that was told to.
        guard loop.wait() == 128 + SIGTERM, runs > 0 else {
            throw Trouble("the loop did not do its work")
        }
        let size = try bytes(of: "\(state)/history.db")

        var section = Section(title: "Two hundred commands for \(minutes) minutes")
        section.add(
            figure("history of a run", Double(size) / Double(runs + runsBefore), "bytes", 600))
        section.add(
            figure("written for a run", (after.written - before.written) / Double(runs), "KiB", 48))
        section.add(
            figure(
                "processor time of the loop for a run",
                (after.milliseconds - before.milliseconds) / Double(runs), "ms", 1.2))
        section.add(
            Section.Figure(
                what: "history after \(runs + runsBefore) runs",
                value: "\(decimal(Double(size) / 1_048_576)) MiB"))
        section.notes = [
            "`clarity-jobs loop`, \(count) jobs that run `/bin/true` every \(every) s; the history by the "
                + "size of its file after the loop has ended, the rest from /proc/PID/io "
                + "(`write_bytes`) and /proc/PID/stat (`utime` and `stime`)."
        ]
        return section
    }

    private func figure(
        _ what: String, _ value: Double, _ unit: String, _ limit: Double
    ) -> Section.Figure {
        Section.Figure(
            what: what, value: "\(decimal(value)) \(unit)",
            target: "at most \(decimal(limit)) \(unit)", isMet: value <= limit)
    }

    /// Returns the number of runs that succeeded.
    private func runs(_ state: String) throws -> Int {
        try RunHistory(inDirectory: state).runs(of: nil, limit: .max)
            .count { $0.state == .succeeded }
    }

    private func bytes(of path: String) throws -> Int {
        var status = stat()
        guard stat(path, &status) == 0 else { throw Trouble("there is no `\(path)`") }
        return Int(status.st_size)
    }
}

extension Child {
    /// The resources that a process has used so far.
    struct Usage {
        /// The KiB that it has written to disk.
        var written: Double
        /// The processor time that it has used.
        var milliseconds: Double
        /// The processor time of all its children that have ended.
        var childMilliseconds: Double
    }

    func usage() throws -> Usage { try Child.usage(of: processID) }

    static func usage(of processID: pid_t) throws -> Usage {
        let written = try text(of: "/proc/\(processID)/io").split(separator: "\n")
            .first { $0.hasPrefix("write_bytes:") }?.split(separator: " ").last.flatMap {
                Double($0)
            }
        // utime, stime, cutime and cstime are fields 14 to 17; field 2 may contain spaces (proc(5)).
        let fields =
            try text(of: "/proc/\(processID)/stat").split(separator: ")").last?
            .split(separator: " ") ?? []
        let ticks = fields.dropFirst(11).prefix(4).compactMap { Double($0) }
        guard let written, ticks.count == 4 else { throw Trouble("a program has ended") }
        let tick = 1000 / Double(sysconf(Int32(_SC_CLK_TCK)))
        return Usage(
            written: written / 1024, milliseconds: (ticks[0] + ticks[1]) * tick,
            childMilliseconds: (ticks[2] + ticks[3]) * tick)
    }
}
