import Backend
import HealthStore
import ClarityScheduler

/// Requests an insight for the newest analysis, once for each analysis.
///
/// The worker stores a request before it sends anything, so that a request without a network waits
/// for the next attempt. If a request gets no answer, it may still have led to an insight. The
/// worker then looks for an insight generated since in the history, for `patience`, before it sends
/// the request again and counts an insight that may exist twice.
///
/// An insight that was known before the request is not taken for its result. Nobody can say whether
/// the one that is found belongs to the request; the run notes that.
struct InsightGenerateWorker: KindWorker {
    /// How long the worker looks in the history for the insight of an unanswered request.
    static let patience = Duration.seconds(600)
    /// The longest wait between two looks.
    static let lookWait = Duration.seconds(120)
    /// How long the worker waits for an insight that the backend is making.
    static let longestMaking = Duration.seconds(86_400)
    /// The wait before a run polls again for an insight that the backend is making.
    static let makingWait = Duration.seconds(300)

    func run(
        _ options: InsightGenerateOptions, _ context: WorkContext
    ) async throws -> Outcome {
        var making = InsightMaking(context)
        try making.queue(options)
        let requests = try context.store.analyses.openInsightRequests()
        guard !requests.isEmpty else { return .success }
        try await context.client.prepare()
        for request in requests {
            try context.checkTime()
            try await making.advance(request)
        }
        if try making.isWaiting() {
            let hasBegun = making.hasBegun
            try await PollSchedule.run(context, waitsFirst: hasBegun) { try await making.round() }
        }
        if let wait = making.wait {
            // A stop cut the looking short; whoever starts the run next goes on with it.
            try context.checkTime()
            return .snooze(
                after: wait,
                Failure(.work, "an insight was asked for and is not there yet"))
        }
        return .success
    }
}

extension InsightGenerateOptions: WorkedOptions {
    static var worker: any KindWorker { InsightGenerateWorker() }
}
