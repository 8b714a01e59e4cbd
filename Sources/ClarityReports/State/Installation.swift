public import ClarityScheduler
import ClaritySystem
import JSON

/// Where the jobs come from, where their state is, and what starts them.
public struct Installation: Sendable {
    private let stateDirectory: String
    private let jobFile: String
    /// The zone that the days of the account follow.
    private let timeZone: String
    /// The running loops, each with its process id and its start.
    private let loops: [(process: Int32, since: Instant)]
    /// When a loop or a `run --due` last left a trace; `nil` if none ever did.
    private let lastLook: Instant?

    public init(
        stateDirectory: String, jobFile: String, timeZone: String,
        loops: [(process: Int32, since: Instant)], lastLook: Instant?
    ) {
        self.stateDirectory = stateDirectory
        self.jobFile = jobFile
        self.timeZone = timeZone
        self.loops = loops
        self.lastLook = lastLook
    }

    var lines: [String] {
        ["state directory: \(stateDirectory)", "job file: \(jobFile)"] + schedulers
    }

    private var schedulers: [String] {
        guard loops.isEmpty else {
            return loops.map { "scheduler: loop, process \($0.process), since \($0.since)" }
        }
        guard let lastLook else {
            return ["scheduler: none yet; see `clarity-jobs loop` and `run --due`"]
        }
        return ["scheduler: no loop; `run` was last seen at \(lastLook)"]
    }

    var object: JSON {
        [
            "state_directory": .string(stateDirectory.forReport),
            "job_file": .string(jobFile.forReport),
            "time_zone": .string(timeZone.forReport),
            "loops": .array(
                loops.map { ["process": .integer(Int64($0.process)), "since": .text($0.since)] }),
            "last_look_at": .text(lastLook),
        ]
    }
}
