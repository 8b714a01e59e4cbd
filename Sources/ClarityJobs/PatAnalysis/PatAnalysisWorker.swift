import Backend
import BackendContract
import HealthStore
import HealthModel
import ClarityScheduler
import Platform
import Import
import JSON

/// Sends the newest whole week of steps to be analysed, minute by minute, and stores the result.
///
/// The week ends with the newest day that is known to its end. It is analysed once, and again when
/// a later import knows more of its minutes. The request is stored before it is sent. If a send
/// fails and may have arrived, the next attempt sends the week again, up to five sends in all. An
/// analysis depends only on its recording, so a second one gives the same result and does no harm.
///
/// The answer may contain the result. Otherwise the worker polls for it within the attempt's time,
/// and after that the next run of this kind or of `processing-status` does.
struct PatAnalysisWorker: KindWorker {
    func run(_ options: PatAnalysisOptions, _ context: WorkContext) async throws -> Outcome {
        // An analysis reports no progress, so the worker polls again although nothing has moved.
        var poll = StatusPoll(
            context, giveUpAfter: options.polling.giveUpAfter, asksUploads: false,
            idleRounds: InsightTexts.idleRounds)
        var counts = WorkCounts(context)
        counts.add(0, to: "weeks_sent")
        let hasSent = try await analyse(context, options, &poll, &counts)
        if try !context.store.analyses.open().isEmpty {
            try await PollSchedule.run(context, waitsFirst: hasSent) { try await poll.round() }
        }
        return .success
    }

    /// Sends the week, unless there is a reason not to; returns whether it was sent.
    private func analyse(
        _ context: WorkContext, _ options: PatAnalysisOptions, _ poll: inout StatusPoll,
        _ counts: inout WorkCounts
    ) async throws -> Bool {
        func skip(_ note: String, countedAs name: String = "weeks_skipped") -> Bool {
            context.note(note)
            counts.add(1, to: name)
            return false
        }
        guard let last = try context.store.analyses.newestWholeStepDay() else {
            return skip("no week is analysed: no day is known minute by minute to its end")
        }
        let zones = context.zones.zones
        let week = try MovementWeek(
            context.store.analyses.stepDays(endingOn: last), now: context.clock.now
        ) { zones.zone(named: $0) }
        let form: AnalysisForm
        if let wanted = options.form {
            form = wanted
        } else {
            form = try await context.client.analysisForm()
        }
        let former = try context.store.analyses.newest(of: last, as: form)
        let verdict = WeekVerdict(
            known: week.known.count, needed: options.minutesNeeded,
            former: former.map { ($0.state, $0.knownMinutes) })
        if let reason = verdict.reason {
            return skip("the week to \(last) is not analysed: \(reason)")
        }
        try await context.client.prepare()
        let analysis = try context.store.analyses.queue(
            of: last, as: form, knownMinutes: week.known.count, at: context.clock.now)
        guard analysis.sends < StoredAnalysis.mostSends else {
            let reason = SendAnswers(analysis.questions.lastWord).sentence(of: analysis.sends)
            try context.store.analyses.fail(analysis, reason: reason, at: context.clock.now)
            return skip(
                "the week to \(last) is not analysed: \(reason)", countedAs: "analyses_failed")
        }
        if analysis.sends > 0 { counts.add(1, to: "weeks_sent_again") }
        try await send(week, analysis, context, &poll)
        counts.add(1, to: "weeks_sent")
        counts.add(week.known.count, to: "minutes_sent")
        return true
    }

    private func send(
        _ week: MovementWeek, _ analysis: StoredAnalysis, _ context: WorkContext,
        _ poll: inout StatusPoll
    ) async throws {
        try context.store.analyses.sending(analysis)
        let answer: Analysis
        do throws(APIError) {
            switch analysis.form {
            case .steps: answer = try await context.client.analyse(StepRecording(week.known))
            case .actigraphy:
                answer = try await context.client.analyse(ActigraphyRecording(week))
            }
        } catch {
            if error.isRefusalOfContent {
                try context.store.analyses.fail(
                    analysis, reason: error.classification.sentence, at: context.clock.now)
            } else if !error.mayHaveArrived {
                try context.store.analyses.notArrived(analysis)
            } else {
                var answers = SendAnswers(analysis.questions.lastWord)
                answers.add(error.answeredStatus)
                try context.store.analyses.noteAnswers(answers.text, to: analysis)
            }
            throw error
        }
        switch StatusAnswer(answer) {
        case .completed(let result?) where !result.numbers.isEmpty:
            try poll.take(analysis, id: answer.id, result)
        case .failed:
            try context.store.analyses.fail(
                analysis, reason: "the backend could not analyse it", at: context.clock.now)
            context.note("the week to \(analysis.lastDay): the backend could not analyse it")
        default:
            // Includes an answer that reports completion without a result.
            try context.store.analyses.accept(
                analysis, processingID: answer.id, at: context.clock.now)
        }
    }
}

extension PatAnalysisOptions: WorkedOptions {
    static var worker: any KindWorker { PatAnalysisWorker() }
}

/// The number of answers with each status that the sends of an analysis got, stored as
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

    /// Counts an answer; `nil` stands for a send without an answer.
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
    /// Creates a recording of a week's minutes. Its hours span the first minute to the last, at
    /// most 168.
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
    /// Whether the content was refused, so that sending it again has the same result.
    var isRefusalOfContent: Bool {
        switch self {
        case .validation, .requestTooLarge, .rejected, .conflict, .refused: true
        default: false
        }
    }
}

extension AnalysisResult {
    /// The longest name of a number, in bytes.
    private static let longestName = 64

    /// Reads the result of an analysis from the answer of any dialect.
    ///
    /// The numbers are under `pat_features`, at the top or inside `analysis`, else in `analysis`
    /// itself. The embedding of the movement is under `activity_embedding` or `embedding`.
    ///
    /// Members that are not numbers, or whose names are not plain, are ignored. If there are more
    /// than `mostNumbers`, the first in the order of their names are taken.
    init(of analysis: Analysis) {
        let answer: JSON
        do {
            answer = try JSONParser.parse(analysis.json)
        } catch {
            answer = .null
        }
        let inner = answer.member("analysis")
        let named = answer.member("pat_features") ?? inner?.member("pat_features") ?? inner
        let point =
            answer.member("activity_embedding") ?? inner?.member("activity_embedding")
            ?? inner?.member("embedding")
        self.init(
            numbers: AnalysisResult.numbers(named), embedding: AnalysisResult.point(point),
            json: analysis.json.count <= AnalysisResult.largestJSON ? analysis.json : [])
    }

    private static func numbers(_ json: JSON?) -> [String: Double] {
        guard case .object(let members)? = json else { return [:] }
        var numbers: [String: Double] = [:]
        for member in members.sorted(by: { $0.name < $1.name })
        where numbers.count < mostNumbers && !member.name.isEmpty
            && member.name.isPlainName(atMost: longestName)
        {
            if let number = member.value.finiteNumber { numbers[member.name] = number }
        }
        return numbers
    }

    private static func point(_ json: JSON?) -> [Double] {
        guard case .array(let elements)? = json, elements.count <= longestEmbedding else {
            return []
        }
        let numbers = elements.compactMap(\.finiteNumber)
        return numbers.count == elements.count ? numbers : []
    }
}

extension JSON {
    /// Returns the member's value; `nil` if it is missing or null.
    fileprivate func member(_ name: String) -> JSON? {
        self[name].flatMap { $0 == .null ? nil : $0 }
    }

    fileprivate var finiteNumber: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number) where number.isFinite: number
        default: nil
        }
    }
}
