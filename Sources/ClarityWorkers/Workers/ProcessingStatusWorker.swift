import ClarityJobs
public import ClarityScheduler

/// Asks what became of the uploads and analyses that the backend took.
///
/// Each that is open is asked for once a round. As long as a round sees progress another follows
/// after a short wait, within the attempt's time; what is still open then is asked for by the next
/// run. A backend may never say that it is done: after `give_up_after` it is `unconfirmed`, which is
/// not lost and not confirmed.
public struct ProcessingStatusWorker: KindWorker {
    /// Creates the worker.
    public init() {}

    public func run(_ context: WorkContext) async throws -> Outcome {
        let giveUpAfter = try WorkOptions(context.order).duration("give_up_after")
        var poll = StatusPoll(context, giveUpAfter: giveUpAfter, asksUploads: true)
        try await PollSchedule.run(context) { try await poll.round() }
        if poll.hasSettledUploads { try context.noteAccount() }
        return .success
    }
}
