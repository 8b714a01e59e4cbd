import ClarityScheduler

/// The program's exit statuses: those of sysexits.h where one fits.
enum ExitStatus: Int32, CaseIterable {
    /// Done, or nothing was due.
    case done = 0
    /// A run failed for good.
    case failed = 1
    case usage = 64
    case jobFileFaulty = 65
    case jobFileMissing = 66
    /// The backend or the store cannot be reached.
    case unreachable = 69
    /// A fault of this program.
    case internalFault = 70
    case disk = 74
    /// Something is due and waits: for a constraint, for its backoff or for another process.
    case deferred = 75
    case credential = 77
    /// A setting or key is missing.
    case configuration = 78
    /// A run was ended by its timeout.
    case timeout = 124
    case interrupted = 130
    case terminated = 143

    /// What a run that is finished, or waits to be tried again, means for the program's end.
    init(of run: Run) {
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

    /// What a failure asks of the operator.
    init(of category: Failure.Category) {
        switch category {
        case .work: self = .failed
        case .unreachable: self = .unreachable
        case .credential: self = .credential
        case .configuration: self = .configuration
        case .disk: self = .disk
        case .internalFault: self = .internalFault
        }
    }

    /// What a fault of the store means.
    init(of error: RunStoreError) {
        switch error {
        case .unreachable, .unusable: self = .unreachable
        case .disk: self = .disk
        // As for the health data; waiting changes nothing.
        case .newer: self = .configuration
        case .refused: self = .internalFault
        }
    }

    /// The graver of two, so that of several failures the same one always decides.
    func joined(with other: ExitStatus) -> ExitStatus { gravity < other.gravity ? other : self }

    /// From "nothing is wrong" to "nothing can be relied on".
    private var gravity: Int {
        switch self {
        case .done: 0
        case .deferred: 1
        case .failed: 2
        case .timeout: 3
        case .unreachable: 4
        case .credential: 5
        case .configuration, .jobFileMissing, .jobFileFaulty, .usage: 6
        case .disk: 7
        case .internalFault: 8
        case .interrupted, .terminated: 9
        }
    }
}

/// The end of a command that did not do what it was asked: lines for people and a status.
struct CommandFailure: Error {
    var status: ExitStatus
    /// Each is one line; the first has the program's name before it, unless it names a place in a
    /// file.
    var lines: [String]

    init(_ status: ExitStatus, _ lines: String...) {
        self.status = status
        self.lines = lines
    }

    /// Takes a text of several lines apart.
    init(_ status: ExitStatus, text: String) {
        self.status = status
        lines = text.split(separator: "\n").map(String.init)
    }

    init(_ error: RunStoreError) {
        self.init(ExitStatus(of: error), error.description)
    }
}

/// Runs `body`, and says a failure of the store as one of the command.
func askingStore<Result>(
    _ body: () throws(RunStoreError) -> Result
) throws(CommandFailure) -> Result {
    do throws(RunStoreError) {
        return try body()
    } catch {
        throw CommandFailure(error)
    }
}
