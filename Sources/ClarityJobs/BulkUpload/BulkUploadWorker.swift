public import Backend
public import BackendContract
public import HealthStore
import HealthModel
public import ClarityScheduler

/// Reads the sources into the outbox and uploads the samples that the backend does not have yet.
///
/// If a source cannot be read, or not to its end, the worker still reads the other sources and
/// uploads what it has. When everything else is done, the attempt fails with that source's error.
/// If none of the sources exists, the run waits for a source instead.
struct BulkUploadWorker: KindWorker {
    func run(_ options: BulkUploadOptions, _ context: WorkContext) async throws -> Outcome {
        let limits = UploadLimits(
            meteredBudget: options.meteredBudget, largeUpload: Int64(options.largeUpload))
        var reading = SourceImport(context)
        let broken = try reading.run()
        for month in try context.store.outbox.keptMonths() {
            try context.checkTime()
            try context.store.outbox.unpackKept(month)
        }
        do {
            if let need = try limits.need(
                context.store.outbox.waitingCount(), context.order.conditions)
            {
                throw need
            }
            try await upload(context, options, limits)
        } catch {
            // The run ends with the later failure; the note keeps the earlier one.
            if let broken { context.note(broken.reason) }
            throw error
        }
        if let broken { return reading.outcome(after: broken) }
        try context.packSamples()
        try context.noteAccount()
        return .success
    }

    private func upload(
        _ context: WorkContext, _ options: BulkUploadOptions, _ limits: UploadLimits
    ) async throws {
        let account = try context.store.outbox.counts()
        // Contacts the backend only if there may be something to send. Samples that are set aside
        // or rejected count, because the current rules may accept them.
        let mayWait = account.waiting + account[.setAside] + account[.rejected] > 0
        // Checks the session before the dialect is detected: without a session that is useless.
        if account.waiting > 0 { _ = try await context.client.session() }
        let rules =
            mayWait
            ? try await context.endpoints(
                options.route, resends: options.onAmbiguous == .resend) : []
        var pass = UploadPass(
            context, batchSize: options.batchSize ?? rules.first?.samplesPerRequest ?? 1,
            rules: rules, meteredBudget: limits.budget(context.order.conditions))
        do {
            try await pass.run()
        } catch let later as SendLater {
            throw try await context.forecasting(later, options)
        }
    }
}

extension BulkUploadOptions: WorkedOptions {
    static var worker: any KindWorker { BulkUploadWorker() }
}

extension WorkContext {
    /// Packs the samples that need nothing more, once enough have gathered.
    func packSamples() throws(HealthStoreError) {
        if !isDryRun { try store.outbox.pack(at: clock.now) }
    }

    /// Notes the number of samples in each state, and of those that the backend may have more than
    /// once.
    ///
    /// Called only after success, because a failure is one line. A dry run notes nothing, because
    /// its samples stay where they are.
    func noteAccount() throws(HealthStoreError) {
        guard !isDryRun else { return }
        let account = try store.outbox.counts()
        guard account.total > 0 else { return }
        note("the outbox: \(account)")
        let doubled = try store.outbox.possiblyDoubled()
        guard doubled.samples > 0 else { return }
        note(
            "possibly doubled at the backend: \(doubled.samples) samples, by \(doubled.copies) "
                + "copies at most")
    }
}

/// Deletes uploads at the backend, one after the other.
///
/// The deployed backend reports success for the deletion of any id. Therefore each upload is asked
/// about before and after: it is deleted if the backend had it and then does not know it.
public struct UploadErasure {
    private let store: HealthStore
    private let client: APIClient
    private let clock: any WallClock

    /// Creates an erasure of the uploads of a store.
    public init(_ store: HealthStore, _ client: APIClient, clock: any WallClock) {
        self.store = store
        self.client = client
        self.clock = clock
    }

    /// Returns what can be erased.
    ///
    /// - Parameter ids: only the uploads of these samples; without one, all uploads.
    public func plan(_ ids: [Int64]) async throws -> ErasurePlan {
        try store.outbox.erasurePlan(ids, of: try await client.deletableRoute())
    }

    /// Deletes the uploads of a plan until an error of the backend ends it.
    ///
    /// A kill at any instant loses nothing: the next plan has what is left.
    public func run(
        _ plan: ErasurePlan
    ) async throws -> (receipt: ErasureReceipt, fault: APIError?) {
        var receipt = ErasureReceipt()
        for (number, upload) in plan.uploads.enumerated() {
            do {
                try await erase(upload, &receipt)
            } catch let fault as APIError {
                receipt.left = Int64(plan.uploads.count - number)
                return (receipt, fault)
            }
        }
        return (receipt, nil)
    }

    private func erase(_ upload: ErasableUpload, _ receipt: inout ErasureReceipt) async throws {
        let wasThere = try await isThere(upload)
        if wasThere { try store.outbox.beginErasing(upload, at: clock.now) }
        if wasThere || !upload.isBegun { try await delete(upload) }
        if try await isThere(upload) {
            receipt.stillThere += 1
        } else if wasThere || upload.isBegun {
            let samples = try store.outbox.erase(upload, at: clock.now)
            receipt.uploads += 1
            receipt.samples.merge(samples, uniquingKeysWith: +)
        } else {
            receipt.unproven += 1
        }
    }

    private func delete(_ upload: ErasableUpload) async throws(APIError) {
        do throws(APIError) {
            try await client.deleteHealthData(upload.processingID)
        } catch {
            // A backend that checks the id does not find it when the first try had no answer.
            // Whether it has the upload is asked afterwards in any case.
            guard case .notFound = error else { throw error }
        }
    }

    private func isThere(_ upload: ErasableUpload) async throws(APIError) -> Bool {
        do throws(APIError) {
            _ = try await client.processing(upload.processingID, route: upload.route)
            return true
        } catch .notFound {
            return false
        }
    }
}

extension WorkContext {
    /// Returns the endpoint of every route that the backend has, the one for new batches first.
    ///
    /// - Parameters:
    ///   - wanted: the route for new batches. Without one, each kind uses the dialect's default
    ///     route if that accepts it, else another route that does.
    ///   - resends: whether a batch that was in doubt is sent again if that could duplicate
    ///     it.
    /// - Throws: `APIError.notOffered` if the backend does not have the wanted route; the error of
    ///   detecting the dialect.
    func endpoints(
        _ wanted: UploadRoute?, resends: Bool = true
    ) async throws(APIError) -> [UploadEndpoint] {
        let first = try await client.endpoint(wanted)
        var all = [first]
        for route in UploadRoute.allCases where route != first.route {
            do throws(APIError) {
                all.append(try await client.endpoint(route))
            } catch .notOffered {
                continue
            }
        }
        for index in all.indices {
            all[index].resends = resends
            all[index].takesNew = wanted == nil || all[index].route == wanted
        }
        return all
    }
}

extension UploadRefusal {
    /// The name of the count of samples that are kept back for this reason.
    var countName: String {
        switch self {
        case .kindNotAccepted: "samples_not_accepted"
        case .outOfRange, .notANumber: "samples_out_of_range"
        case .inFuture: "samples_in_future"
        case .inDoubt, .followed: "samples_in_doubt"
        }
    }
}

/// The limits that an upload observes beyond its job's constraints.
struct UploadLimits: Hashable, Sendable {
    /// The bytes that may be sent over a metered connection in 24 h; `nil` means any number.
    var meteredBudget: Int64?
    /// The maximum number of waiting samples that are sent on battery; 0 means any number.
    var largeUpload: Int64

    /// Returns the budget that applies now; `nil` if there is none, or if the connection is not
    /// known to be metered.
    func budget(_ conditions: OrderConditions) -> Int64? {
        conditions.metered == true ? meteredBudget : nil
    }

    /// Returns what to wait for before anything is sent; `nil` if nothing.
    ///
    /// - Parameter waiting: the number of samples that wait to be sent.
    func need(_ waiting: Int64, _ conditions: OrderConditions) -> SendLater? {
        guard largeUpload > 0, waiting > largeUpload, conditions.externalPower == false else {
            return nil
        }
        return SendLater(
            outcome: .awaits(
                .externalPower,
                Failure(
                    .work,
                    "\(waiting) samples wait, more than \(largeUpload): they are sent on external "
                        + "power")))
    }

    /// Returns the outcome when the budget has no room for the waiting samples. Nothing has failed,
    /// and the run continues by itself, even if the connection stays metered.
    ///
    /// - Parameter wait: the time until there may be room, or another connection.
    static func budgetUsed(_ budget: Int64, _ wait: Duration) -> SendLater {
        .snoozing(
            wait,
            "the \(sizeText(budget)) that may go over a metered connection in 24 h are used up")
    }

    /// Returns a size in the largest unit that gives a whole number.
    private static func sizeText(_ bytes: Int64) -> String {
        let units: [(name: String, bytes: Int64)] = [
            ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10),
        ]
        guard let unit = units.first(where: { bytes > 0 && bytes % $0.bytes == 0 }) else {
            return "\(bytes) bytes"
        }
        return "\(bytes / unit.bytes) \(unit.name)"
    }
}

/// The work continues later, at a known time.
struct SendLater: Error {
    let outcome: Outcome

    /// By this program's own count the hour's requests are used up; nothing has failed.
    static func budget(_ wait: Duration) -> SendLater {
        .snoozing(wait, "the requests that the backend allows in an hour are used up")
    }

    /// Nothing has failed, and the run continues by itself.
    static func snoozing(_ wait: Duration, _ reason: String) -> SendLater {
        SendLater(outcome: .snooze(after: wait, Failure(.work, reason)))
    }

    /// The backend accepts no more requests for now, although this program's count had room.
    static func refused(_ wait: Duration, _ failure: Failure) -> SendLater {
        SendLater(outcome: .retry(after: wait, failure))
    }
}

extension WorkContext {
    /// Returns the outcome of an upload that waits for the next hour, with the time that all
    /// samples take.
    func forecasting(_ later: SendLater, _ options: BulkUploadOptions) async throws -> SendLater {
        guard case .snooze(let wait, var failure) = later.outcome else { return later }
        let waiting = try store.outbox.waiting()
        let forecasts = try await endpoints(options.route).map {
            UploadForecast(waiting, $0, batchSize: options.batchSize)
        }
        guard let sentence = UploadForecast.sentence(forecasts) else { return later }
        failure.reason += ": \(sentence)"
        return SendLater(outcome: .snooze(after: wait, failure))
    }
}
