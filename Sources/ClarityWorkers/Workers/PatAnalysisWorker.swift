import ClarityJobs
public import ClarityScheduler
import ClaritySystem

/// Has the newest whole week of steps analysed, minute by minute, and keeps the result.
///
/// The week ends with the newest day that is known to its end, and is analysed once, and anew when a
/// later reading knows more of its minutes. It is written down before it leaves. What is left in the
/// dark by an error is sent again by the next attempt, five times at most: an analysis follows from
/// its recording alone, so that a second one of the same is the same, and does no harm.
///
/// The answer may have the result already; else it is asked for within the attempt's time, and then
/// by this kind's and by `processing-status`' next run.
public struct PatAnalysisWorker: KindWorker {
    /// Creates the worker.
    public init() {}

    public func run(_ context: WorkContext) async throws -> Outcome {
        let options = WorkOptions(context.order)
        let needed = try options.integer("minutes_needed")
        let giveUpAfter = try options.duration("give_up_after")
        let form = AnalysisForm(rawValue: try options.choice("form"))
        // An analysis has no progress to see: it is asked for again although nothing has moved.
        var poll = StatusPoll(
            context, giveUpAfter: giveUpAfter, asksUploads: false,
            idleRounds: InsightTexts.idleRounds)
        var counts = WorkCounts(context)
        counts.add(0, to: "weeks_sent")
        let hasSent = try await analyse(context, form, needed, &poll, &counts)
        if try !context.store.openAnalyses().isEmpty {
            try await PollSchedule.run(context, waitsFirst: hasSent) { try await poll.round() }
        }
        return .success
    }

    /// Sends the week, unless there is a reason not to.
    private func analyse(
        _ context: WorkContext, _ wanted: AnalysisForm?, _ needed: Int, _ poll: inout StatusPoll,
        _ counts: inout WorkCounts
    ) async throws -> Bool {
        guard let last = try context.store.newestWholeStepDay() else {
            context.note("no week is analysed: no day is known minute by minute to its end")
            counts.add(1, to: "weeks_skipped")
            return false
        }
        let zones = context.zones.zones
        let week = try MovementWeek(
            context.store.stepDays(endingOn: last), now: context.clock.now
        ) { zones.zone(named: $0) }
        let form: AnalysisForm
        if let wanted { form = wanted } else { form = try await context.client.analysisForm() }
        let former = try context.store.newestAnalysis(of: last, as: form)
        let ruling = WeekRuling(
            known: week.known.count, needed: needed,
            former: former.map { ($0.state, $0.knownMinutes) })
        if let reason = ruling.reason {
            context.note("the week to \(last) is not analysed: \(reason)")
            counts.add(1, to: "weeks_skipped")
            return false
        }
        try await context.client.prepare()
        let analysis = try context.store.queueAnalysis(
            of: last, as: form, knownMinutes: week.known.count, at: context.clock.now)
        guard analysis.sends < KeptAnalysis.mostSends else {
            let reason = SendAnswers(analysis.questions.lastWord).sentence(of: analysis.sends)
            try context.store.fail(analysis, reason: reason, at: context.clock.now)
            context.note("the week to \(last) is not analysed: \(reason)")
            counts.add(1, to: "analyses_failed")
            return false
        }
        if analysis.sends > 0 { counts.add(1, to: "weeks_sent_again") }
        try await send(week, analysis, context, &poll)
        counts.add(1, to: "weeks_sent")
        counts.add(week.known.count, to: "minutes_sent")
        return true
    }

    private func send(
        _ week: MovementWeek, _ analysis: KeptAnalysis, _ context: WorkContext,
        _ poll: inout StatusPoll
    ) async throws {
        try context.store.sending(analysis)
        let answer: Analysis
        do throws(APIError) {
            switch analysis.form {
            case .steps: answer = try await context.client.analyse(StepRecording(week.known))
            case .actigraphy:
                answer = try await context.client.analyse(ActigraphyRecording(week))
            }
        } catch {
            if error.isRefusalOfContent {
                try context.store.fail(
                    analysis, reason: error.ruling.sentence, at: context.clock.now)
            } else if !error.mayHaveArrived {
                try context.store.notArrived(analysis)
            } else {
                var answers = SendAnswers(analysis.questions.lastWord)
                answers.add(error.answeredStatus)
                try context.store.noteAnswers(answers.text, to: analysis)
            }
            throw error
        }
        switch StatusAnswer(answer) {
        case .completed(let result?) where !result.numbers.isEmpty:
            try poll.take(analysis, id: answer.id, result)
        case .failed:
            try context.store.fail(
                analysis, reason: "the backend could not analyse it", at: context.clock.now)
            context.note("the week to \(analysis.lastDay): the backend could not analyse it")
        default:
            // Also an answer that says that it is done and leaves out what it came to.
            try context.store.accept(
                analysis, processingID: answer.id, at: context.clock.now)
        }
    }
}

/// How often the backend answered the sends of an analysis with which status, kept as
/// `500=4 503=1`.
struct SendAnswers {
    private var counts: [String: Int] = [:]

    init(_ text: String?) {
        for word in text?.split(separator: " ") ?? [] {
            let parts = word.split(separator: "=")
            guard parts.count == 2, Int(parts[0]) != nil, let count = Int(parts[1]) else {
                continue
            }
            counts[String(parts[0])] = count
        }
    }

    var text: String {
        counts.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    }

    /// Counts an answer; `nil` for a send that was not answered.
    mutating func add(_ status: Int?) {
        if let status { counts[String(status), default: 0] += 1 }
    }

    /// `it was sent 5 times: the backend answered 500 4 times and did not answer once`.
    func sentence(of sends: Int) -> String {
        guard !counts.isEmpty else { return "it was sent \(sends) times and not answered" }
        func times(_ count: Int) -> String {
            if count == sends { return "each time" }
            return count == 1 ? "once" : "\(count) times"
        }
        var parts = counts.sorted { $0.key < $1.key }.map {
            "answered \($0.key) \(times($0.value))"
        }
        let silent = sends - counts.values.reduce(0, +)
        if silent > 0 { parts.append("did not answer \(times(silent))") }
        return "it was sent \(sends) times: the backend \(parts.joined(separator: " and "))"
    }
}

extension ActigraphyRecording {
    /// The minutes of a week as measurements, with the hours from the first to the last.
    init(_ week: MovementWeek) {
        let span =
            (week.known.last?.start ?? Instant(secondsSince1970: 0))
            - (week.known.first?.start ?? Instant(secondsSince1970: 0))
        self.init(
            points: week.known.map { Point(time: $0.start, value: Double($0.steps)) },
            samplingRate: 1, hours: Int(min(168, span.components.seconds / 3600 + 1)))
    }
}

extension APIError {
    /// Whether what was sent is at fault, so that sending it again ends the same.
    var isRefusalOfContent: Bool {
        switch self {
        case .validation, .requestTooLarge, .rejected, .conflict, .refused: true
        default: false
        }
    }
}
