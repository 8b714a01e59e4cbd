import ClarityJobs
import ClarityScheduler
import ClaritySystem
import ClarityWorkers

/// The exit statuses of this program, named after those of `sysexits.h` where it has them.
enum ExitStatus: Int32 {
    case done = 0
    case failed = 1
    case usage = 64
    case faultyInput = 65
    case missingInput = 66
    case unreachable = 69
    case internalFault = 70
    case disk = 74
    /// A later try may succeed.
    case deferred = 75
    case credential = 77
    case configuration = 78
    case interrupted = 130
    case terminated = 143

    init(_ category: Failure.Category) {
        self =
            switch category {
            case .work: .failed
            case .unreachable: .unreachable
            case .credential: .credential
            case .configuration: .configuration
            case .disk: .disk
            case .internalFault: .internalFault
            }
    }

    /// Returns the status of an outcome, and writes its failure to the error output.
    init(_ outcome: Outcome) {
        switch outcome {
        case .success: self = .done
        // The work continues when it may; nothing has failed.
        case .snooze(_, let failure), .awaits(_, let failure):
            complain(failure.reason)
            self = .deferred
        case .retry(_, let failure), .failure(let failure):
            complain(failure.reason)
            self.init(failure.category)
        }
    }

    /// Returns the status of an error that ended a command, and writes the error to the error
    /// output. If another process holds the store, the status says that a later try may succeed.
    init(of error: any Error) {
        self.init(outcome(of: error))
        if let error = error as? HealthStoreError, error.isBusy { self = .deferred }
    }

    /// Returns the status of a backup or restore that failed, and writes why to the error output.
    init(ofBackup error: any Error) {
        switch error {
        case let error as BackupError:
            complain(error.description)
            if case .busy = error {
                self = .deferred
            } else {
                self = error.isDisk ? .disk : .configuration
            }
        case let error as RestoreError:
            complain(error.description)
            self =
                switch error {
                case .inUse: .deferred
                case .noBackup: .disk
                case .nothingDamaged, .otherKey, .newer, .newerFile, .otherUser: .configuration
                }
        case let error as StateDirectoryError: self.init(of: HealthStoreError.directory(error))
        default: self.init(of: error)
        }
    }

    /// Returns the status of a file that a person named and that cannot be read, and writes why to
    /// the error output.
    init(of error: SourceError) {
        complain(error.description)
        self =
            switch error {
            case .missing: .missingInput
            case .noPermission: .credential
            case .unreadable: .disk
            case .otherTimeZone: .configuration
            case .notAFile, .notAFolder, .notOneFile, .empty, .notAnExport, .notAnAutoExport,
                .noExportInside,
                .unknownKind, .tooLarge, .damaged:
                .faultyInput
            }
    }
}
