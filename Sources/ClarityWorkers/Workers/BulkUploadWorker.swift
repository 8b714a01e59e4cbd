import ClarityJobs
public import ClarityScheduler

/// Reads the sources into the outbox and sends what the backend does not have yet.
///
/// A source that cannot be read, or not to its end, does not hold back the others nor what was read
/// of it; the attempt fails with it when everything else is done.
public struct BulkUploadWorker: KindWorker {
    /// Creates the worker.
    public init() {}

    public func run(_ context: WorkContext) async throws -> Outcome {
        var options = WorkOptions(context.order, zones: context.zones)
        let plan = try UploadPlan(options)
        try options.settleZone(context.store)
        var reading = SourceImport(context)
        let broken = try reading.run(try options.sources(now: context.clock.now))
        do {
            if let need = try plan.limits.need(
                context.store.outboxAccount().waiting, context.order.conditions)
            {
                throw need
            }
            try await upload(context, plan)
        } catch {
            // The run ends with the later failure, and still says what else was wrong.
            if let broken { context.note(broken.reason) }
            throw error
        }
        if let broken {
            guard reading.hasNoSource else { return .failure(broken) }
            return .awaits(
                .source, Failure(broken.category, "waits for a source: \(broken.reason)"))
        }
        try context.noteAccount()
        return .success
    }

    private func upload(_ context: WorkContext, _ plan: UploadPlan) async throws {
        let account = try context.store.outboxAccount()
        // Nobody is asked anything for nothing; what our own rules keep back may not be nothing.
        let mayWait = account.waiting + account.setAside + account.rejected > 0
        // Before the backend is asked what it speaks: without a login that would be in vain.
        if account.waiting > 0 { _ = try await context.client.session() }
        let rules =
            mayWait ? try await BatchRules.all(context, plan.route, resends: plan.resends) : []
        var pass = UploadPass(
            context, batchSize: plan.batchSize ?? rules.first?.samples ?? 1, rules: rules,
            meteredBudget: plan.limits.budget(context.order.conditions))
        do {
            try await pass.run()
        } catch let later as SendLater {
            throw try await context.forecasting(later, plan)
        }
    }
}

/// What the job file says of how samples are sent.
struct UploadPlan {
    /// The samples of one request; `nil`: as many as the backend takes.
    var batchSize: Int?
    /// `nil`: the dialect's standard.
    var route: UploadRoute?
    /// Whether a batch that may have arrived is sent again where that could double it.
    var resends: Bool
    var limits: UploadLimits

    init(_ options: WorkOptions) throws(Failure) {
        batchSize = try options.optionalInteger("batch_size")
        route = UploadRoute(rawValue: try options.choice("route"))
        resends = try options.choice("on_ambiguous") == "resend"
        limits = UploadLimits(
            meteredBudget: try options.optionalSize("metered_budget"),
            largeUpload: Int64(try options.integer("large_upload")))
    }
}

extension WorkContext {
    /// Tells where all samples are, and of which the backend may have more than one. Only at a good
    /// end, since a failure is one line; and not in a rehearsal, in which they are where they were.
    func noteAccount() throws(HealthStoreError) {
        guard !isRehearsal else { return }
        let account = try store.outboxAccount()
        guard account.samples > 0 else { return }
        note("the outbox: \(account)")
        let doubled = try store.possiblyDoubled()
        guard doubled.samples > 0 else { return }
        note(
            "possibly doubled at the backend: \(doubled.samples) samples, by \(doubled.copies) "
                + "copies at most")
    }
}
