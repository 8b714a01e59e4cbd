import Backend
import BackendContract
import HealthStore
import HealthModel
import ClarityScheduler

/// Sends the pending requests for insights, and follows them to their end.
struct InsightMaking {
    private let context: WorkContext
    private var counts: WorkCounts
    private var texts: InsightTexts
    /// The shortest time until another look for the insight of an unanswered request.
    private var lookWait: Duration?
    /// Whether the backend was still making an insight at the last poll.
    private var isMaking = false
    /// Whether the backend has begun an insight that was not polled yet.
    private(set) var hasBegun = false
    private var idle = 0

    init(_ context: WorkContext) {
        self.context = context
        counts = WorkCounts(context)
        texts = InsightTexts(context)
        counts.add(0, to: "insights_generated")
    }

    /// The time until a missing insight may exist; `nil` if none is missing.
    var wait: Duration? {
        guard isMaking else { return lookWait }
        return min(lookWait ?? InsightGenerateWorker.makingWait, InsightGenerateWorker.makingWait)
    }

    /// Stores a request for the newest analysis, unless it already has one.
    mutating func queue(_ options: InsightGenerateOptions) throws {
        guard let (analysis, result) = try context.store.analyses.latestResult() else {
            return skip("no analysis is complete yet")
        }
        guard !result.numbers.isEmpty else {
            return skip("the newest analysis has no number to make one of")
        }
        guard try !context.store.analyses.hasInsightRequest(of: analysis) else {
            if try context.store.analyses.openInsightRequests().isEmpty {
                skip("one of the newest analysis was asked for before")
            }
            return
        }
        let matter = InsightMatter(
            numbers: result.numbers,
            context: options.context == .summary ? try telling(of: analysis) : nil,
            length: options.length.rawValue,
            includesRecommendations: options.includesRecommendations,
            language: options.language)
        if try context.store.analyses.queueInsight(of: analysis, matter, at: context.clock.now)
            != nil
        {
            counts.add(1, to: "insights_queued")
        }
    }

    /// Advances a request as far as possible for now.
    mutating func advance(_ request: StoredInsightRequest) async throws {
        switch request.state {
        case .queued: try await send(request)
        case .sending:
            if try await find(request) { return }
            let waited = context.clock.now - (request.lastSentAt ?? context.clock.now)
            let rest = InsightGenerateWorker.patience - waited
            guard rest <= .zero else {
                return shorten(to: min(rest, InsightGenerateWorker.lookWait))
            }
            counts.add(1, to: "insights_possibly_doubled")
            context.note(
                "an insight is asked for again: the request before was not answered, and the "
                    + "history has none since")
            try await send(request)
        // `round` polls for insights that are being made; the other states are final.
        case .generating, .completed, .failed, .unconfirmed: break
        }
    }

    /// Whether the backend is making an insight whose id is known.
    func isWaiting() throws -> Bool {
        try context.store.analyses.openInsightRequests().contains { $0.state == .generating }
    }

    /// Polls once for each insight that is being made.
    ///
    /// - Returns: whether another round is worthwhile.
    mutating func round() async throws -> Bool {
        let open = try context.store.analyses.openInsightRequests().filter {
            $0.state == .generating
        }
        var ended = 0
        for request in open {
            if context.isEnding() { break }
            if try await ask(request) { ended += 1 }
        }
        let left = open.count - ended
        context.report(.count(name: "insights_generating", Int64(left)))
        isMaking = left > 0
        idle = ended > 0 ? 0 : idle + 1
        return left > 0 && idle < InsightTexts.idleRounds
    }

    private mutating func send(_ request: StoredInsightRequest) async throws {
        guard let body = try await body(of: request) else { return }
        try context.store.analyses.sending(request, at: context.clock.now)
        let insight: Insight
        do throws(APIError) {
            insight = try await context.client.generateInsight(body)
        } catch {
            if error.isRefusalOfContent {
                try context.store.analyses.fail(
                    request, reason: error.classification.sentence, at: context.clock.now)
            } else if !error.mayHaveArrived {
                try context.store.analyses.notArrived(request)
            }
            throw error
        }
        switch (insight.state, insight.id) {
        case (.completed, let id):
            try context.store.analyses.keep(
                FullInsight(
                    id: id ?? request.provisionalID,
                    generatedAt: insight.generatedAt ?? context.clock.now, json: insight.json),
                for: request, at: context.clock.now)
            tell("insights_generated")
        case (.generating, let id?):
            try context.store.analyses.generating(request, insight: id)
            hasBegun = true
        // Without an id, the insight can only be found in the history.
        case (.generating, nil): shorten(to: InsightGenerateWorker.lookWait)
        case (.failed, _): try fail(request, "the backend could not make it")
        }
    }

    /// Returns the request as the dialect wants it; `nil` if it cannot be made. A request that
    /// lacks numbers fails here.
    private mutating func body(of request: StoredInsightRequest) async throws -> InsightRequest? {
        guard let matter = try context.store.analyses.matter(of: request) else { return nil }
        var numbers = matter.numbers
        if let wanted = try await context.client.insightNumbers() {
            numbers = numbers.filter { wanted.contains($0.key) }
            // The backend counts a missing number as 0, which would make the insight wrong.
            guard numbers.count == wanted.count else {
                try fail(
                    request,
                    "the analysis lacks \(wanted.count - numbers.count) of the \(wanted.count) "
                        + "numbers that the backend makes an insight of")
                return nil
            }
        }
        return InsightRequest(
            results: numbers, context: matter.context,
            length: InsightRequest.Length(rawValue: matter.length) ?? .comprehensive,
            includesRecommendations: matter.includesRecommendations, language: matter.language)
    }

    /// Looks in the history for the insight of an unanswered request; returns whether there is one.
    private mutating func find(_ request: StoredInsightRequest) async throws -> Bool {
        let sentAt = request.firstSentAt ?? context.clock.now
        let since = sentAt - StoredInsightRequest.clockMargin
        let user = try await context.client.session().userID
        var history = HistoryReading(context, user: user, pageSize: 20)
        try await history.readFront(since: since)
        guard let id = try context.store.analyses.unclaimedInsight(for: request, since: since)
        else {
            return false
        }
        try context.store.analyses.complete(request, insight: id, at: context.clock.now)
        tell("insights_found")
        context.note(
            "the history's next insight is taken for the insight that was asked for, which the "
                + "backend cannot confirm")
        if try await context.client.givesInsightsInFull() { _ = try await texts.fetch(id) }
        return true
    }

    /// Polls for an insight that is being made; returns whether it has ended.
    private mutating func ask(_ request: StoredInsightRequest) async throws -> Bool {
        let state = try await texts.fetch(request.insightID ?? "", for: request)
        let now = context.clock.now
        switch state {
        case .completed:
            tell("insights_generated")
            return true
        case .failed:
            try fail(request, "the backend could not make it")
            return true
        case .generating, nil:
            try context.store.noteAsked(
                about: .insight(request), state == nil ? "not found" : "generating", at: now)
        }
        guard now - (request.firstSentAt ?? now) >= InsightGenerateWorker.longestMaking else {
            return false
        }
        let tried = try context.store.questions(about: .insight(request)).text
        try fail(
            request, isUnconfirmed: true,
            "the backend did not finish it within \(InsightGenerateWorker.longestMaking.text) "
                + "(\(tried))")
        return true
    }

    /// Returns the days of the analysis' week, and the number of stored samples of each kind.
    private func telling(of analysis: StoredAnalysis) throws -> String {
        let zone = try context.zones.dayZone(of: context.store, named: context.sections.sourceZone)
        let last = analysis.lastDay.daysSince1970
        let samples = try context.store.analyses.sampleCounts(
            from: CivilDay(daysSince1970: last - 6).start(in: zone),
            to: CivilDay(daysSince1970: last + 1).start(in: zone))
        return InsightContext.text(
            lastDay: analysis.lastDay, knownMinutes: analysis.knownMinutes, samples: samples)
    }

    private mutating func tell(_ count: String) {
        counts.add(1, to: count)
        context.report(.happened(.insightGenerated))
    }

    private mutating func skip(_ reason: String) {
        counts.add(1, to: "insights_skipped")
        context.note("no insight is asked for: \(reason)")
    }

    private mutating func fail(
        _ request: StoredInsightRequest, isUnconfirmed: Bool = false, _ reason: String
    ) throws {
        try context.store.analyses.fail(
            request, isUnconfirmed: isUnconfirmed, reason: reason, at: context.clock.now)
        counts.add(1, to: isUnconfirmed ? "insights_unconfirmed" : "insights_failed")
        context.note("no insight was made: \(reason)")
    }

    private mutating func shorten(to span: Duration) { lookWait = min(lookWait ?? span, span) }
}

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

    func run(_ options: InsightGenerateOptions, _ context: WorkContext) async throws -> Outcome {
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
