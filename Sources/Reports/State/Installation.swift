public import ClarityScheduler
import Platform

/// Where the jobs come from, where their state is, and what starts them.
public struct Installation: Sendable {
    private let stateDirectory: String
    private let jobFile: String
    /// The zone that the days of the account follow.
    private let timeZone: String
    /// The running loops, each with its process id and its start.
    private let loops: [RunningLoop]
    /// When a loop or a `run --due` last left a trace; `nil` if none ever did.
    private let lastLook: Instant?

    public init(
        stateDirectory: String, jobFile: String, timeZone: String,
        loops: [RunningLoop], lastLook: Instant?
    ) {
        self.stateDirectory = stateDirectory
        self.jobFile = jobFile
        self.timeZone = timeZone
        self.loops = loops
        self.lastLook = lastLook
    }

    /// Whether loops run and none of them decides.
    var isLeaderless: Bool { loops.isLeaderless }

    static let leaderless =
        "scheduler: no loop decides, so that nothing starts: each waits for another one; restart them"

    var lines: [String] {
        ["state directory: \(stateDirectory)", "job file: \(jobFile)"] + schedulers
    }

    private var schedulers: [String] {
        guard loops.isEmpty else {
            return loops.map { "scheduler: \($0.words)" }
                + (isLeaderless ? [Installation.leaderless] : [])
        }
        guard let lastLook else {
            return ["scheduler: none yet; see `clarity-jobs loop` and `run --due`"]
        }
        return ["scheduler: no loop; `run` was last seen at \(lastLook)"]
    }
}

extension Installation: Reported {
    public static let report = Report<Installation>([
        Column("state_directory", "path of the state directory") { $0.stateDirectory.forReport },
        Column("job_file", "path of the job file") { $0.jobFile.forReport },
        Column("time_zone", "the time zone that days follow") { $0.timeZone.forReport },
        Column("loops", "the running loops") { $0.loops },
        Column("last_look_at", "when a scheduler last decided") { $0.lastLook },
    ])
}

extension RunningLoop {
    /// The loop in words, such as `loop on pi, process 412, since 2026-11-20T06:00:00Z`.
    public var words: String {
        let place = machine.map { " on \($0)" } ?? ""
        return "loop\(place), process \(process), since \(since)"
            + (isStandby ? ", ready to take over" : "")
    }
}

extension RunningLoop: Reported {
    public static let report = Report<RunningLoop>([
        Column("machine", "name of its machine; for a shared database") { $0.machine },
        Column("is_standby", "whether it waits for another loop to end") { $0.isStandby },
        Column("process", "process id of the loop") { Int($0.process) },
        Column("since", "start of the loop") { $0.since },
    ])
}
