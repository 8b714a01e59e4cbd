public import ClarityScheduler

/// The exit statuses of the programs: those of sysexits.h where one fits.
public enum ExitStatus: Int32, CaseIterable, Sendable {
    /// Everything succeeded, or nothing was due.
    case done = 0
    /// A run failed for good.
    case failed = 1
    case usage = 64
    /// The job file or another input file is faulty.
    case faultyInput = 65
    /// The job file or another input file is missing.
    case missingInput = 66
    /// The backend or the store cannot be reached.
    case unreachable = 69
    /// A bug in this program.
    case internalFault = 70
    case disk = 74
    /// Something is due and waits for a constraint, for its backoff or for another process.
    case deferred = 75
    case credential = 77
    /// A setting or key is missing.
    case configuration = 78
    /// A run timed out.
    case timeout = 124
    case interrupted = 130
    case terminated = 143

    /// What the status means, for people.
    public var summary: String {
        switch self {
        case .done: "done, or nothing was due"
        case .failed:
            "a run failed for good, for a reason that has no status below; `audit` found something; "
                + "a freshness goal is missed or a job is overdue (`status`)"
        case .usage: "wrong usage of the command line"
        case .faultyInput: "the job file, or a file to read, has an error"
        case .missingInput:
            "there is no job file, no such file to read, no such entry, or no data yet"
        case .unreachable: "the backend or the database cannot be reached"
        case .internalFault: "a bug in clarity-jobs"
        case .disk:
            "a disk is full or fails, or a state file is damaged or missing; `restore` puts back an "
                + "intact backup"
        case .deferred:
            "something is due and waits: for a constraint, its backoff or another process; or an "
                + "interrupted `restore` has to be finished first"
        case .credential: "the login was refused, or nobody is logged in"
        case .configuration:
            "a setting, key or file that is needed is missing or wrong, or a file was written by a "
                + "newer version, or by one before 0.1.0"
        case .timeout: "a run was ended by its timeout"
        case .interrupted: "ended by SIGINT, after running attempts had stopped"
        case .terminated: "ended by SIGTERM, after running attempts had stopped"
        }
    }

    /// Returns the exit status for a run that is finished or waits for a retry.
    public init(of run: Run) {
        switch run.state {
        case .succeeded, .skipped: self = .done
        case .enqueued, .running: self = .deferred
        case .cancelled: self = .failed
        case .failed:
            if run.stopReason == .timeout {
                self = .timeout
            } else {
                self = ExitStatus(of: run.failure?.category ?? .internalFault)
            }
        }
    }

    /// Returns the exit status for a category of failures.
    public init(of category: Failure.Category) {
        switch category {
        case .work: self = .failed
        case .unreachable: self = .unreachable
        case .credential: self = .credential
        case .configuration: self = .configuration
        case .disk: self = .disk
        case .internalFault: self = .internalFault
        }
    }

    /// Returns the exit status for an error of the store.
    public init(of error: RunStoreError) {
        switch error {
        case .unreachable, .unusable: self = .unreachable
        case .disk: self = .disk
        // The same as for the health data: waiting does not help.
        case .otherVersion: self = .configuration
        case .refused: self = .internalFault
        }
    }

    /// Returns the graver of two statuses, so that the order of several failures does not matter.
    public func joined(with other: ExitStatus) -> ExitStatus {
        gravity < other.gravity ? other : self
    }

    /// The rank from "nothing is wrong" to "nothing can be relied on".
    private var gravity: Int {
        switch self {
        case .done: 0
        case .deferred: 1
        case .failed: 2
        case .timeout: 3
        case .unreachable: 4
        case .credential: 5
        case .configuration, .missingInput, .faultyInput, .usage: 6
        case .disk: 7
        case .internalFault: 8
        case .interrupted, .terminated: 9
        }
    }
}

/// What the worker writes instead of a message if the backend's limiter refuses the login of an
/// account of a table: `limited 60000`, with the milliseconds until the next one may be tried.
public enum LimitedLogin {
    private static let word = "limited "

    /// Returns the line for a wait.
    public static func line(_ wait: Duration) -> String { word + String(wait.milliseconds) }

    /// Returns the wait that an output names; `nil` if it is no such line.
    public static func wait(in output: String) -> Duration? {
        let line = output.split(separator: "\n").first ?? ""
        guard line.hasPrefix(word) else { return nil }
        return Int64(line.dropFirst(word.count)).map { .milliseconds($0) }
    }
}
