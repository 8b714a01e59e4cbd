import ClarityJobs
public import ClarityScheduler

/// Asks what became of the uploads that the backend accepted.
///
/// Each open upload is asked for once a round. As long as a round sees progress another follows
/// after a short wait, within the attempt's time; what is still open then is asked for by the next
/// run. A backend may never say that it is done: after `give_up_after` its samples are
/// `unconfirmed`, which is not lost and not confirmed.
public struct ProcessingStatusWorker: KindWorker {
    /// The wait before the second round; it doubles up to `longestWait`.
    static let firstWait = Duration.seconds(1)
    static let longestWait = Duration.seconds(8)

    /// Creates the worker.
    public init() {}

    public func run(_ context: WorkContext) async throws -> Outcome {
        let giveUpAfter = try WorkOptions(context.order).duration("give_up_after")
        var poll = StatusPoll(context, giveUpAfter: giveUpAfter)
        let end = context.startedAt + context.order.timeout - context.order.warning
        var wait = ProcessingStatusWorker.firstWait
        while try await poll.round(), !context.isEnding(), context.clock.elapsed + wait < end {
            await context.clock.sleep(for: wait)
            wait = min(wait * 2, ProcessingStatusWorker.longestWait)
        }
        if poll.hasSettled { try context.noteAccount() }
        return .success
    }
}

/// Rounds of questions about all open uploads.
private struct StatusPoll {
    private let context: WorkContext
    private let giveUpAfter: Duration
    private var counts: WorkCounts
    /// Whether an upload has ended, in whichever way.
    private(set) var hasSettled = false
    /// What was heard of each open upload last.
    private var heard: [Int64: ProcessingStatus] = [:]

    init(_ context: WorkContext, giveUpAfter: Duration) {
        self.context = context
        self.giveUpAfter = giveUpAfter
        counts = WorkCounts(context)
    }

    /// Asks for every open upload once.
    ///
    /// - Returns: whether another round is worth while: something is open, and something moved.
    /// - Throws: what one upload that stays open could not be asked for with, when all others were
    ///   asked for; what keeps every one from being asked for, at once.
    mutating func round() async throws -> Bool {
        let uploads = try context.store.openUploads()
        for name in ["uploads_confirmed", "uploads_failed", "uploads_unconfirmed"] {
            counts.add(0, to: name)
        }
        var hasMoved = false
        var fault: APIError?
        var open = uploads.count
        for upload in uploads {
            if context.isEnding() { break }
            let (status, trouble) = try await status(of: upload)
            if try settle(upload, status) {
                (hasMoved, hasSettled) = (true, true)
                open -= 1
            } else {
                // The first word counts as a move, so that there is a second round to compare.
                hasMoved = hasMoved || heard[upload.id] != status
                heard[upload.id] = status
                fault = fault ?? trouble
            }
        }
        context.report(.count(name: "uploads_processing", Int64(open)))
        if let fault { throw fault }
        return hasMoved && open > 0
    }

    /// The backend's word, or why there is none for this upload, which must not hold up the others
    /// and is given up with time. An upload that the backend does not know (yet, or any more) may
    /// still turn up.
    private func status(
        of upload: OpenUpload
    ) async throws(APIError) -> (ProcessingStatus, trouble: APIError?) {
        let unknown = ProcessingStatus(state: .other, progress: nil)
        do throws(APIError) {
            return (
                try await context.client.processing(upload.processingID, route: upload.route), nil
            )
        } catch {
            switch error {
            case .notFound: return (unknown, nil)
            // A gateway speaks, or a backend that says itself that it is not there.
            case .server(status: 502...504, _): throw error
            case .server, .decoding, .tooLarge, .rejected, .validation, .conflict, .forbidden,
                .notOffered:
                return (unknown, error)
            default: throw error
            }
        }
    }

    /// Acts on an end; false while there is none.
    private mutating func settle(_ upload: OpenUpload, _ status: ProcessingStatus) throws -> Bool {
        let now = context.clock.now
        switch status.state {
        case .completed:
            try context.store.confirm(upload, at: now)
            counts.add(1, to: "uploads_confirmed")
            counts.add(upload.sampleCount, to: "samples_confirmed")
        case .failed:
            let sentBack = try context.store.returnToQueue(
                upload, reason: "the backend could not process it", at: now)
            counts.add(1, to: "uploads_failed")
            counts.add(sentBack.requeued, to: "samples_requeued")
            counts.add(sentBack.setAside, to: "samples_set_aside")
        case .received, .processing, .other:
            guard now - upload.acceptedAt >= giveUpAfter else { return false }
            let reason = "the backend did not finish it within \(giveUpAfter.text)"
            try context.store.giveUp(upload, reason: reason, at: now)
            if counts["uploads_unconfirmed"] == 0 { context.note("unconfirmed: \(reason)") }
            counts.add(1, to: "uploads_unconfirmed")
            counts.add(upload.sampleCount, to: "samples_unconfirmed")
        }
        return true
    }
}
