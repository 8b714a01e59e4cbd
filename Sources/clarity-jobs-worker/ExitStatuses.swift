import ClaritySources
import ClarityJobs
import ClarityScheduler
import ClaritySystem
import ClarityWorkers

extension ExitStatus {
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
            self.init(of: failure.category)
        }
    }

    /// Returns the status of an error that ended a command, and writes the error to the error
    /// output. If another process holds the store, the status says that a later try may succeed.
    init(of error: any Error) {
        self.init(outcome(of: error))
        if let error = error as? HealthStoreError, error.isBusy { self = .deferred }
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
