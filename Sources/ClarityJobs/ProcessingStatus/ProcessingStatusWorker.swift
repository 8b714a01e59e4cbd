import HealthStore
import ClarityScheduler

/// Polls for the results of the uploads and analyses that the backend accepted.
///
/// A round asks once for each open upload and analysis. If a round sees progress, another one
/// follows after a short wait, within the attempt's time. The next run polls for what is still
/// open. Some backends never report the end: after `give_up_after` an upload or analysis becomes
/// `unconfirmed`, which is neither lost nor confirmed.
struct ProcessingStatusWorker: KindWorker {
    func run(
        _ options: ProcessingStatusOptions, _ context: WorkContext
    ) async throws -> Outcome {
        var poll = StatusPoll(context, giveUpAfter: options.giveUpAfter, asksUploads: true)
        try await PollSchedule.run(context) { try await poll.round() }
        try context.packSamples()
        if poll.hasSettledUploads { try context.noteAccount() }
        return .success
    }
}

extension ProcessingStatusOptions: WorkedOptions {
    static var worker: any KindWorker { ProcessingStatusWorker() }
}
