import HealthModel
import Backend
import BackendContract
import HealthStore
import ClarityScheduler
import Synchronization

/// Sends the waiting samples of the outbox, batch after batch.
struct UploadPass {
    /// The number of refusals in a row, with no sample accepted, after which the pass stops looking
    /// for bad samples. Finding one bad sample among 100 by halving takes about 13 requests.
    static let refusalLimit = 16
    /// The number of batches in a row that the backend fails on before the pass stops.
    static let breakLimit = 2
    /// How often a batch may lose the connection before it is blamed for that.
    static let interruptionLimit = 5
    /// The most requests at once. A route that does not deduplicate gets one: what is under way
    /// when the machine fails counts as in doubt there.
    static let mostAtOnce = 4

    private let context: WorkContext
    private let batchSize: Int
    /// The rules of every route that the backend has, the one for new batches first.
    private let rules: [UploadEndpoint]
    /// The bytes that may be sent in 24 h, if the connection is metered.
    private let meteredBudget: Int64?
    private var counts: WorkCounts
    private var refusals = 0
    private var breaks = 0
    /// Samples with more failures wait for the next run, so that a sample that the backend cannot
    /// process fails once a run.
    private var mostFailures = Int64(OutboxState.failureLimit)
    private var done: Int64 = 0
    private var total: Int64 = 0
    /// The batches that are being sent, by id.
    private var underWay: [Int64: OutboxBatch] = [:]
    /// How many may be sent at once now: one at first and after each refusal or failure, so that a
    /// backend in trouble is not pressed.
    private var width = 1
    /// The batches that were under way at the last refusal or failure. What becomes of them says
    /// nothing about the next one.
    private var lastFailed: Set<Int64> = []
    /// The bytes of bodies that were sent before the last batch was.
    private var bytesBefore: Int64 = 0
    /// The last batches that the backend took as a whole; they are settled when the next ones are
    /// drawn, in the same transaction.
    private var acknowledged: [TakenBatch] = []
    /// The first error, after which nothing more is sent.
    private var failure: (any Error)?

    init(
        _ context: WorkContext, batchSize: Int, rules: [UploadEndpoint], meteredBudget: Int64? = nil
    ) {
        self.context = context
        self.meteredBudget = meteredBudget
        self.batchSize = batchSize
        self.rules = rules
        counts = WorkCounts(context)
    }

    /// Sends until nothing in the outbox may be sent.
    ///
    /// - Throws: `WorkStopped`; `SendLater` if the hour's requests or the metered budget are used
    ///   up; `HealthStoreError.otherUser` if the session does not belong to the outbox's owner;
    ///   `APIError` if an immediate retry does not help, with the batch kept as it is or its
    ///   samples back in the queue; `Failure` if the backend refuses everything; errors of the
    ///   store.
    mutating func run() async throws {
        // Starts all counts at 0: one that is missing here would keep the value of the previous
        // attempt in the run's tally.
        let names = [
            "samples_sent", "samples_accepted", "samples_rejected", "samples_set_aside",
            "samples_possibly_doubled", "samples_known", "samples_requeued",
            "samples_sent_elsewhere",
        ]
        for name in names + UploadRefusal.allCases.map(\.countName) { counts.add(0, to: name) }
        count(try context.store.outbox.sortOut(by: rules, at: context.clock.now))
        total = try context.store.outbox.waitingCount()
        guard total > 0 else { return }
        let client = try context.client
        let user = try await client.session().userID
        // A page that many batches change then goes into the file once.
        try context.store.outbox.beginBulk()
        await withTaskGroup(of: Answer.self) { answers in
            let ended = Ended()
            repeat {
                while failure == nil, hasRoom {
                    let batches = next(of: user)
                    guard !batches.isEmpty else { break }
                    for batch in batches {
                        underWay[batch.id] = batch
                        bytesBefore = bodyBytes
                        let upload = UploadBatch(batch, of: user)
                        answers.addTask {
                            let end = await client.send(upload)
                            ended.count.add(1, ordering: .relaxed)
                            return Answer(batch: batch.id, end: end)
                        }
                    }
                }
                await settleAcknowledged()
                // What has ended by now is settled together. Each of the others gets a turn first, so
                // that it is sent, and perhaps answered.
                repeat {
                    guard let answer = await answers.next() else { return }
                    ended.count.subtract(1, ordering: .relaxed)
                    await take(answer)
                    for _ in 0..<underWay.count { await Task.yield() }
                } while ended.count.load(ordering: .relaxed) > 0
            } while true
        }
        try context.store.outbox.endBulk()
        try context.store.outbox.endSending()
        if let failure { throw failure }
    }

    /// Whether one more batch may be sent now.
    private var hasRoom: Bool {
        underWay.count < width && !underWay.values.contains { isDoubled($0) }
    }

    /// How many requests have ended whose answer was not taken.
    private final class Ended: Sendable {
        let count = Atomic(0)
    }

    /// The end of one request.
    private struct Answer: Sendable {
        let batch: Int64
        let end: UploadEnd
    }

    /// Returns the next batches to send; none if there is none now, or after an error.
    ///
    /// While others are under way, they end first: what they leave may go into another batch.
    private mutating func next(of user: String) -> [OutboxBatch] {
        do {
            try context.checkTime()
            let draw = try context.store.outbox.nextBatches(
                width - underWay.count, limit: batchSize, rules: rules, at: context.clock.now,
                of: user, mostFailures: mostFailures, metered: meteredBudget, after: acknowledged,
                besides: Set(underWay.keys))
            acknowledged = []
            draw.settlements.forEach { report($0) }
            count(draw.refused)
            guard draw.batches.isEmpty, underWay.isEmpty else { return draw.batches }
            if let wait = draw.wait { throw SendLater.budget(wait) }
            if let wait = draw.meteredWait, let meteredBudget {
                throw UploadLimits.budgetUsed(meteredBudget, wait)
            }
            skip(draw.sentElsewhere)
        } catch {
            failure = error
        }
        return []
    }

    /// Settles the last batches if no others were drawn after them.
    private mutating func settleAcknowledged() async {
        guard !acknowledged.isEmpty else { return }
        let last = acknowledged
        acknowledged = []
        do {
            let settlements = try await recording { outbox, now throws(HealthStoreError) in
                try outbox.settle(last, at: now)
            }
            settlements.forEach { report($0) }
        } catch {
            failure = failure ?? error
        }
    }

    /// Records what an answer says about a batch, also when the database has just ended the
    /// session.
    private func recording<Result>(
        _ body: (Outbox, Instant) throws(HealthStoreError) -> Result
    ) async throws(HealthStoreError) -> Result {
        let store = context.store
        return try await store.recording { () throws(HealthStoreError) in
            try body(store.outbox, context.clock.now)
        }
    }

    private mutating func report(_ settlement: Settlement) {
        count(settlement)
        context.report(.progress(done: min(done, total), total: total))
    }

    /// Settles the batch that an answer is about. After an error the others that are under way are
    /// still settled.
    private mutating func take(_ answer: Answer) async {
        guard let batch = underWay.removeValue(forKey: answer.batch) else { return }
        do {
            try noteBytes(of: batch)
            if answer.end.isTaken {
                // The bytes of one batch can be told apart only if it is sent alone.
                if lastFailed.remove(batch.id) == nil, meteredBudget == nil {
                    width = UploadPass.mostAtOnce
                }
            } else {
                (width, lastFailed) = (1, Set(underWay.keys))
                // Before anything ends the run or puts batches back.
                await settleAcknowledged()
            }
            switch answer.end.result {
            case .success(let receipt): try await settled(batch, receipt)
            case .failure(let error): try await failed(batch, error, answer.end.words)
            }
            context.report(.progress(done: min(done, total), total: total))
        } catch {
            failure = failure ?? error
        }
    }

    /// Notes the samples that another upload is sending, so that nobody wonders why this one did
    /// not.
    private mutating func skip(_ sentElsewhere: Int64) {
        guard sentElsewhere > 0 else { return }
        counts.add(sentElsewhere, to: "samples_sent_elsewhere")
        let samples = sentElsewhere == 1 ? "1 sample is" : "\(sentElsewhere) samples are"
        context.note("\(samples) being sent by another upload")
    }

    private mutating func count(_ sorting: Outbox.Sorting) {
        if sorting.requeued > 0 { counts.add(sorting.requeued, to: "samples_requeued") }
        count(sorting.refused)
    }

    /// Counts the samples that are kept back, by reason, and notes their kinds.
    private mutating func count(_ refused: RefusalCounts) {
        let all = refused.flatMap { refusal, kinds in kinds.map { ($0.key, $0.value, refusal) } }
        for (kind, count, refusal) in all.sorted(by: { $0.0.rawValue < $1.0.rawValue }) {
            counts.add(count, to: refusal.countName)
            counts.add(count, to: refusal.isRejection ? "samples_rejected" : "samples_set_aside")
            context.note("not sent: \(kind.rawValue) (\(count)): \(refusal)")
            done += count
        }
    }

    /// Returns the rules of a batch's route.
    private func rules(of batch: OutboxBatch) -> UploadEndpoint? {
        rules.first { $0.route == batch.route }
    }

    /// Whether sending a batch again could duplicate it.
    private func isDoubled(_ batch: OutboxBatch) -> Bool {
        rules(of: batch).map { !$0.isIdempotent } ?? false
    }

    /// Whether a batch that was in doubt must not be sent again.
    private func isHeld(_ batch: OutboxBatch) -> Bool {
        isDoubled(batch) && rules(of: batch).map { !$0.resends } ?? false
    }

    /// Records the bytes that sending a batch has taken on a metered connection, where one batch is
    /// sent at a time.
    private mutating func noteBytes(of batch: OutboxBatch) throws {
        try context.store.outbox.sentMetered(batch, bytes: bodyBytes - bytesBefore)
    }

    /// The bytes of bodies that were sent so far.
    private var bodyBytes: Int64 { (context.transport as? MeasuredTransport)?.bodyBytes ?? 0 }

    private mutating func settled(_ batch: OutboxBatch, _ receipt: UploadReceipt) async throws {
        let sent = batch.samples.count
        guard receipt.unexplained < sent else {
            return try await refused(batch, "the backend does not take it and does not say why")
        }
        let rejected = Dictionary(
            receipt.rejected.map { ($0.index, $0.reason) }, uniquingKeysWith: { first, _ in first })
        let words = receipt.rejected.reduce(into: [Int: String]()) { $0[$1.index] = $1.words }
        let isTaken = receipt.accepted > 0 || !receipt.duplicates.isEmpty
        refusals = isTaken ? 0 : refusals + 1
        breaks = 0
        counts.add(sent, to: "samples_sent")
        let answer = TakenBatch(
            batch, processingID: receipt.processingID, isStored: receipt.isStored)
        if receipt.unexplained == 0, receipt.duplicates.isEmpty, rejected.isEmpty {
            acknowledged.append(answer)
        } else if receipt.unexplained == 0 {
            count(
                try await recording { outbox, now throws(HealthStoreError) in
                    try outbox.settle(
                        answer, duplicates: receipt.duplicates, rejected: rejected, words: words,
                        at: now)
                })
        } else if isHeld(batch) {
            try hold(batch)
        } else {
            // Sends the rest again in halves to find out. The backend now knows the samples that it
            // took, or has them twice if it does not deduplicate. Each sample that it refuses is
            // alone in the end.
            count(
                try await recording { outbox, now throws(HealthStoreError) in
                    try outbox.split(
                        batch, duplicates: receipt.duplicates, rejected: rejected, words: words,
                        mayHaveArrived: isDoubled(batch),
                        reason: "the backend does not say what became of some of it", at: now)
                })
        }
        guard refusals < UploadPass.refusalLimit else {
            throw Failure(.work, "the backend takes nothing, in \(refusals) requests in a row")
        }
    }

    /// Counts the rows that an answer changed.
    private mutating func count(_ settlement: Settlement) {
        counts.add([
            "samples_accepted": settlement.accepted, "samples_known": settlement.known,
            "samples_rejected": settlement.rejected, "samples_requeued": settlement.requeued,
            "samples_set_aside": settlement.setAside,
            "samples_possibly_doubled": settlement.doubled,
        ])
        if let failures = settlement.failures { mostFailures = min(mostFailures, failures - 1) }
        done += settlement.accepted + settlement.known + settlement.rejected + settlement.setAside
    }

    /// - Parameter words: the backend's words, if it answered.
    private mutating func failed(
        _ batch: OutboxBatch, _ error: APIError, _ words: RefusalWords?
    ) async throws {
        switch error {
        case .validation(let indices):
            try await refused(batch, error.classification.sentence, indices, words)
        case .requestTooLarge, .rejected(status: 400):
            try await refused(batch, error.classification.sentence, [], words)
        case .rateLimited(let retryAfter):
            try await notArrived(batch)
            guard rules(of: batch)?.requestsPerHour != nil else { throw error }
            throw SendLater.refused(
                try context.store.outbox.closeRoute(
                    batch.route, for: retryAfter, at: context.clock.now),
                Failure(error.classification.category, error.classification.sentence))
        case .server(status: 502...504, _):
            // A gateway answers, or a backend that reports that it is unavailable.
            try await retain(batch, error)
        case .server, .knownFault, .decoding, .tooLarge:
            guard !isHeld(batch) else { return try await retain(batch, error) }
            try await requeue(batch, error, words)
            breaks += 1
            if breaks >= UploadPass.breakLimit { throw error }
        case .blocked, .clockRefused:
            // A firewall may have a limit of its own, which only a smaller batch passes. And a
            // batch keeps the time at which it was made, while the next one gets a new time.
            try await recording { outbox, now throws(HealthStoreError) in
                try outbox.putBack(batch, reason: error.classification.sentence, at: now)
            }
            throw error
        case .interrupted, .timeout:
            guard !isHeld(batch), batch.attempts >= UploadPass.interruptionLimit else {
                return try await retain(batch, error)
            }
            try await requeue(batch, error)
            throw error
        default:
            // The samples are not at fault.
            try await retain(batch, error)
        }
    }

    /// Ends the run and leaves the batch as it is, to be sent again. A batch that was in doubt
    /// and must not be sent again is set aside.
    private mutating func retain(_ batch: OutboxBatch, _ error: APIError) async throws {
        if !error.mayHaveArrived {
            try await notArrived(batch)
        } else if isHeld(batch) {
            try hold(batch)
        }
        throw error
    }

    /// Clears the record that the batch was in doubt, if there is one.
    private func notArrived(_ batch: OutboxBatch) async throws {
        guard isDoubled(batch) else { return }
        try await recording { outbox, _ throws(HealthStoreError) in try outbox.notArrived(batch) }
    }

    private mutating func hold(_ batch: OutboxBatch) throws {
        count(try context.store.outbox.hold(batch, at: context.clock.now))
    }

    /// Looks for the bad samples: those that the backend named, else by halving.
    private mutating func refused(
        _ batch: OutboxBatch, _ reason: String, _ indices: [Int] = [],
        _ words: RefusalWords? = nil
    ) async throws {
        refusals += 1
        guard refusals < UploadPass.refusalLimit else {
            let setAside = try await recording { outbox, now throws(HealthStoreError) in
                try outbox.releaseAll(answered: batch, reason: reason, at: now)
            }
            counts.add(setAside, to: "samples_set_aside")
            throw Failure(.work, "\(reason), in \(refusals) requests in a row")
        }
        let named = indices.filter(batch.samples.indices.contains)
        guard named.isEmpty else {
            let reasons = named.reduce(into: [Int: String]()) {
                $0[$1] = "the backend does not accept it"
            }
            return count(
                try await recording { outbox, now throws(HealthStoreError) in
                    try outbox.refuse(batch, reasons, words: words?.named ?? [:], at: now)
                })
        }
        count(
            try await recording { outbox, now throws(HealthStoreError) in
                try outbox.split(batch, wordsOfAll: words?.whole, reason: reason, at: now)
            })
    }

    private mutating func requeue(
        _ batch: OutboxBatch, _ error: APIError, _ words: RefusalWords? = nil
    ) async throws {
        // Without an error code, the words are those of any server that fails.
        let said = words.flatMap { $0.hasCode ? $0.whole : nil }
        let setAside = try await recording { outbox, now throws(HealthStoreError) in
            try outbox.release(
                batch, mayHaveArrived: error.mayHaveArrived, words: said,
                reason: error.classification.sentence, at: now)
        }
        counts.add(setAside, to: "samples_set_aside")
        done += setAside
    }
}

extension UploadBatch {
    fileprivate init(_ batch: OutboxBatch, of user: String) {
        let ids = MetricIDs(userID: user)
        self.init(
            id: String(batch.id), userID: user, clientTimestamp: batch.clientTimestamp,
            metrics: batch.samples.map {
                UploadMetric(id: ids($0).description, sample: $0)
            },
            route: batch.route)
    }
}

extension UploadEnd {
    /// Whether the backend has every sample of the batch now, but for those that it names.
    fileprivate var isTaken: Bool {
        guard case .success(let receipt) = result, receipt.unexplained == 0 else { return false }
        return receipt.accepted > 0 || !receipt.duplicates.isEmpty
    }
}
