import Backend
import HealthStore
import HealthModel
import ClarityScheduler
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
