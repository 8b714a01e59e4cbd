public import Backend
public import BackendContract
public import HealthStore
import HealthModel
public import ClarityScheduler
import Import

/// Reads the sources into the outbox and uploads the samples that the backend does not have yet.
///
/// If a source cannot be read, or not to its end, the worker still reads the other sources and
/// uploads what it has. When everything else is done, the attempt fails with that source's error.
/// If none of the sources exists, the run waits for a source instead.
struct BulkUploadWorker: KindWorker {
    func run(_ options: BulkUploadOptions, _ context: WorkContext) async throws -> Outcome {
        let limits = UploadLimits(
            meteredBudget: options.meteredBudget, largeUpload: Int64(options.largeUpload))
        var settings = try SourceSettings(context.order, zones: context.zones)
        try settings.settleZone(context.store)
        var reading = SourceImport(context)
        let broken = try reading.run(try settings.sources(now: context.clock.now))
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
        if let broken {
            guard reading.hasNoSource else { return .failure(broken) }
            return .awaits(
                .source, Failure(broken.category, "waits for a source: \(broken.reason)"))
        }
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
