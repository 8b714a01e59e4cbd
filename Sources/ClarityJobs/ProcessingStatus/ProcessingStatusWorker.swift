import HealthStore
import ClarityScheduler
import Backend
import BackendContract
import HealthModel

/// Polls for the results of the uploads and analyses that the backend accepted.
///
/// A round asks once for each open upload and analysis. If a round sees progress, another one
/// follows after a short wait, within the attempt's time. The next run polls for what is still
/// open. Some backends never report the end: after `give_up_after` an upload or analysis becomes
/// `unconfirmed`, which is neither lost nor confirmed.
struct ProcessingStatusWorker: KindWorker {
    func run(_ options: ProcessingStatusOptions, _ context: WorkContext) async throws -> Outcome {
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

/// Polls in rounds for what the backend is processing: the analyses, and the uploads if wanted.
struct StatusPoll {
    private let context: WorkContext
    private let giveUpAfter: Duration
    private let asksUploads: Bool
    /// The number of rounds in a row without progress after which polling stops.
    private let idleRounds: Int
    private var idle = 0
    private var counts: WorkCounts
    /// Whether an upload has ended, with any result.
    private(set) var hasSettledUploads = false
    /// The last answer about each item, by its name.
    private var answers: [String: StatusAnswer] = [:]
    /// The progress of each item that was open since the first round, in percent.
    private var progress: [String: Int64] = [:]

    /// - Parameters:
    ///   - asksUploads: whether to poll for uploads too.
    ///   - idleRounds: the number of rounds in a row without progress after which another one is
    ///     not worthwhile.
    init(_ context: WorkContext, giveUpAfter: Duration, asksUploads: Bool, idleRounds: Int = 1) {
        self.context = context
        self.giveUpAfter = giveUpAfter
        self.asksUploads = asksUploads
        self.idleRounds = idleRounds
        counts = WorkCounts(context)
    }

    /// Asks once about everything that is open.
    ///
    /// - Returns: whether another round is worthwhile: something is open, and something moves.
    /// - Throws: an error about one item that stays open, after all others were asked about; an
    ///   error that affects every item, at once.
    mutating func round() async throws -> Bool {
        let uploads = asksUploads ? try await openUploads().map(OpenWork.upload) : []
        let works = uploads + (try context.store.analyses.open().map(OpenWork.analysis))
        for kind in asksUploads ? ["uploads", "analyses"] : ["analyses"] {
            let good = kind == "uploads" ? "confirmed" : "completed"
            for end in [good, "failed", "unconfirmed"] { counts.add(0, to: "\(kind)_\(end)") }
        }
        if asksUploads { for end in ["stored", "unknown"] { counts.add(0, to: "uploads_\(end)") } }
        var hasMoved = false
        var fault: APIError?
        var open = ["uploads": 0, "analyses": 0]
        for work in works {
            if context.isEnding() {
                open[work.kind, default: 0] += 1
                continue
            }
            let answer = try await answer(about: work)
            tell(work, answer.percent ?? progress[work.name] ?? 0)
            if try settle(work, answer) {
                hasMoved = true
                tell(work, 100)
            } else {
                open[work.kind, default: 0] += 1
                // The first answer counts as progress, so that a second round has something to
                // compare.
                hasMoved = hasMoved || answers[work.name] != answer
                answers[work.name] = answer
                if case .silent(let trouble) = answer { fault = fault ?? trouble }
            }
        }
        if asksUploads {
            context.report(.count(name: "uploads_processing", Int64(open["uploads"] ?? 0)))
        }
        context.report(.count(name: "analyses_processing", Int64(open["analyses"] ?? 0)))
        if let fault { throw fault }
        idle = hasMoved ? 0 : idle + 1
        return idle < idleRounds && open.values.contains { $0 > 0 }
    }

    /// Returns the uploads to ask about: those that are open, and those that were given up although
    /// the backend's last answer proves, in this dialect, that it has stored them.
    private func openUploads() async throws -> [OpenUpload] {
        var uploads: [OpenUpload] = []
        for upload in try context.store.outbox.openUploads() {
            if upload.isGivenUp {
                let proof = try await context.client.storageProof(upload.route)
                guard case .status = proof else { continue }
            }
            uploads.append(upload)
        }
        return uploads
    }

    /// Stores the result of an analysis, whichever answer contained it.
    mutating func take(_ analysis: StoredAnalysis, id: String, _ result: AnalysisResult) throws {
        try context.store.analyses.complete(
            analysis, processingID: id, result, at: context.clock.now)
        counts.add(1, to: "analyses_completed")
        context.report(.happened(.analysisCompleted))
    }

    private mutating func tell(_ work: OpenWork, _ percent: Int64) {
        progress[work.name] = percent
        context.report(
            .progress(
                done: progress.values.reduce(0, +), total: 100 * Int64(progress.count)))
    }

    /// Returns the backend's answer, or why there is none for this item. A missing answer must not
    /// delay the other items, and the item is given up with time. An upload that the backend does
    /// not know yet, or any more, may still turn up.
    private func answer(about work: OpenWork) async throws -> StatusAnswer {
        let answer: StatusAnswer
        do throws(APIError) {
            switch work {
            case .upload(let upload):
                // Only one that another dialect accepted is open then; its status says nothing.
                if try await context.client.storageProof(upload.route) == .acceptance {
                    return .open("none", percent: nil)
                }
                answer = StatusAnswer(
                    try await context.client.processing(
                        upload.processingID, route: upload.route))
            case .analysis(let analysis):
                answer = StatusAnswer(
                    try await context.client.analysis(analysis.processingID ?? ""))
            case .insight: return .open("none", percent: nil)
            }
        } catch {
            if case (.notFound, .upload) = (error, work) {
                answer = .unknown
            } else {
                answer = try StatusAnswer(error)
            }
        }
        try context.store.noteAsked(about: work, answer.word, at: context.clock.now)
        return answer
    }

    /// Acts on the end of an item; returns whether it has ended.
    private mutating func settle(_ work: OpenWork, _ answer: StatusAnswer) throws -> Bool {
        switch work {
        case .upload(let upload):
            guard try settle(upload, answer) || giveUp(work, since: upload.acceptedAt) else {
                return upload.isGivenUp
            }
            hasSettledUploads = true
        case .analysis(let analysis):
            guard
                try settle(analysis, answer)
                    || giveUp(work, since: analysis.acceptedAt ?? context.clock.now)
            else { return false }
        case .insight: return false
        }
        return true
    }

    private mutating func settle(_ upload: OpenUpload, _ answer: StatusAnswer) throws -> Bool {
        let now = context.clock.now
        switch answer {
        case .completed:
            guard count(try context.store.outbox.confirm(upload, at: now), as: "confirmed") else {
                return true
            }
            context.report(.happened(.uploadCompleted))
        case .failed:
            let sentBack = try context.store.outbox.returnToQueue(
                upload, reason: "the backend could not process it", at: now)
            counts.add(1, to: "uploads_failed")
            counts.add(sentBack.requeued, to: "samples_requeued")
            counts.add(sentBack.setAside, to: "samples_set_aside")
        case .stored:
            _ = count(try context.store.outbox.store(upload, at: now), as: "stored")
        // Asks twice: an upload that has only just arrived may not be found at once.
        case .unknown where answers[OpenWork.upload(upload).name] == .unknown:
            let reason = Outbox.unknownReason
            let samples = try context.store.outbox.giveUp(upload, reason: reason, at: now)
            if samples != nil, counts["uploads_unknown"] == 0 {
                context.note("unknown: \(reason); `clarity-jobs outbox retry` sends it again")
            }
            _ = count(samples, as: "unknown")
        case .open, .unknown, .silent: return false
        }
        return true
    }

    /// Counts an upload that has ended, and its samples; returns whether it has ended here and not,
    /// as `nil` says, in another process.
    private mutating func count(_ samples: Int64?, as end: String) -> Bool {
        guard let samples else { return false }
        counts.add(1, to: "uploads_\(end)")
        counts.add(samples, to: "samples_\(end)")
        return true
    }

    private mutating func settle(_ analysis: StoredAnalysis, _ answer: StatusAnswer) throws -> Bool
    {
        switch answer {
        case .completed(let result?):
            try take(analysis, id: analysis.processingID ?? "", result)
        case .failed:
            try context.store.analyses.fail(
                analysis, reason: "the backend could not analyse it", at: context.clock.now)
            counts.add(1, to: "analyses_failed")
        case .completed(nil), .open, .stored, .unknown, .silent: return false
        }
        return true
    }

    /// Gives up an item that has been open for too long, and notes what was tried.
    private mutating func giveUp(_ work: OpenWork, since start: Instant) throws -> Bool {
        let now = context.clock.now
        guard now - start >= giveUpAfter else { return false }
        if case .upload(let upload) = work, upload.isGivenUp { return false }
        let tried = try context.store.questions(about: work).text
        let reason = "the backend did not finish it within \(giveUpAfter.text)"
        switch work {
        case .upload(let upload):
            guard let count = try context.store.outbox.giveUp(upload, reason: reason, at: now)
            else {
                return true
            }
            counts.add(count, to: "samples_unconfirmed")
        case .analysis(let analysis):
            try context.store.analyses.fail(analysis, isUnconfirmed: true, reason: reason, at: now)
        case .insight: return false
        }
        if counts["\(work.kind)_unconfirmed"] == 0 {
            context.note("unconfirmed: \(reason) (\(tried))")
        }
        counts.add(1, to: "\(work.kind)_unconfirmed")
        return true
    }
}

extension OpenWork {
    /// A name that no other item has.
    fileprivate var name: String {
        switch self {
        case .upload(let upload): "upload \(upload.id)"
        case .analysis(let analysis): "analysis \(analysis.id)"
        case .insight(let request): "insight \(request.id)"
        }
    }

    /// The kind under which it is counted.
    fileprivate var kind: String {
        switch self {
        case .upload: "uploads"
        case .analysis: "analyses"
        case .insight: "insights"
        }
    }
}

/// Polls in rounds with waits between them, as long as the attempt has time for the next round.
enum PollSchedule {
    /// The wait before the second round; it doubles up to `longestWait`.
    static let firstWait = Duration.seconds(1)
    static let longestWait = Duration.seconds(8)

    /// Polls until `round` returns that another one is not worthwhile. The next run polls for what
    /// is still open.
    ///
    /// - Parameter waitsFirst: whether to wait before the first round too, because something has
    ///   only just begun.
    static func run(
        _ context: WorkContext, waitsFirst: Bool = false, _ round: () async throws -> Bool
    ) async throws {
        let end = context.startedAt + context.order.timeout - context.order.warning
        var wait = firstWait
        if !waitsFirst {
            guard try await round() else { return }
        }
        while !context.isEnding(), context.clock.elapsed + wait < end {
            await context.clock.sleep(for: wait)
            guard try await round() else { return }
            wait = min(wait * 2, longestWait)
        }
    }
}

/// The backend's answer about something that it is processing.
enum StatusAnswer: Hashable, Sendable {
    /// It is in progress, described by this word, with the percentage if the backend gives one.
    case open(String, percent: Int64?)
    /// It is done; for an analysis with its result.
    case completed(AnalysisResult?)
    case failed
    /// It is stored, and the backend reports no more.
    case stored
    /// The backend does not know it, or no longer.
    case unknown
    /// There is no answer about this one.
    case silent(APIError)

    init(_ status: ProcessingStatus) {
        switch status.state {
        case .completed: self = .completed(nil)
        case .failed: self = .failed
        case .stored: self = .stored
        case .received, .processing, .other:
            let percent = status.progress.map { Int64(($0 * 100).rounded()) }
            let word = status.state == .other ? "something else" : status.state.rawValue
            self = .open(word + (percent.map { ", \($0) %" } ?? ""), percent: percent)
        }
    }

    init(_ analysis: Analysis) {
        switch analysis.state {
        case .completed: self = .completed(AnalysisResult(of: analysis))
        case .failed: self = .failed
        case .received, .processing: self = .open(analysis.state.rawValue, percent: nil)
        case .notFound: self = .open("not found", percent: nil)
        case .other: self = .open("something else", percent: nil)
        }
    }

    /// Creates the answer that an error implies for one item.
    ///
    /// - Throws: an error that says nothing about this item, because every other item would meet it
    ///   too.
    init(_ error: APIError) throws(APIError) {
        switch error {
        case .notFound: self = .open("not found", percent: nil)
        // A gateway answers, or a backend that reports that it is unavailable.
        case .server(status: 502...504, _): throw error
        case .server, .decoding, .tooLarge, .rejected, .validation, .conflict, .forbidden,
            .notOffered:
            self = .silent(error)
        default: throw error
        }
    }

    var percent: Int64? {
        switch self {
        case .open(_, let percent): percent
        case .completed, .stored: 100
        case .failed, .unknown, .silent: nil
        }
    }

    /// The answer in this program's own words.
    var word: String {
        switch self {
        case .open(let word, _): word
        case .completed: "completed"
        case .failed: "failed"
        case .stored: "received"
        case .unknown: "not found"
        case .silent(let error): error.classification.sentence
        }
    }
}
