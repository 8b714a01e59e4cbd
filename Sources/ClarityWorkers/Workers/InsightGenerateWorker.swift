import ClarityJobs
public import ClarityScheduler

/// Has an insight made of the newest analysis, once for each.
///
/// A request is written down before anything is sent: without a network it waits there for the next
/// attempt. Of one that was not answered nobody knows whether it has led to an insight; so the history
/// is looked through for one generated since, for `patience`, before it is sent again, and an insight
/// that may then be there twice is counted. One that was known before the request is not taken for
/// it; whether the one that is belongs to it nobody can say, which the run notes.
public struct InsightGenerateWorker: KindWorker {
    /// How long an insight whose request was not answered is waited for in the history.
    static let patience = Duration.seconds(600)
    /// The longest wait between two looks.
    static let lookWait = Duration.seconds(120)
    /// How long an insight that is being made is waited for.
    static let longestMaking = Duration.seconds(86_400)
    /// The wait before a run asks again for what is being made.
    static let makingWait = Duration.seconds(300)

    /// Creates the worker.
    public init() {}

    public func run(_ context: WorkContext) async throws -> Outcome {
        let wish = try InsightWish(WorkOptions(context.order))
        var making = InsightMaking(context)
        try making.queue(wish)
        let requests = try context.store.openInsightRequests()
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
            return .snooze(
                after: wait,
                Failure(.work, "an insight was asked for and is not there yet"))
        }
        return .success
    }
}

/// What a job wants of an insight.
struct InsightWish: Sendable {
    var length: InsightRequest.Length
    var language: String
    var includesRecommendations: Bool
    var hasContext: Bool

    init(_ options: WorkOptions) throws(Failure) {
        length = InsightRequest.Length(rawValue: try options.choice("type")) ?? .comprehensive
        language = try options.languageTag("language")
        includesRecommendations = try options.flag("recommendations")
        hasContext = try options.choice("context") == "summary"
    }
}
