import ClarityClient
public import ClarityTransport
public import ClarityContract
public import ClarityJobs
public import ClarityScheduler

/// Runs an attempt from its order to its outcome.
public enum AttemptRunner {
    /// Opens the store, connects the client and runs the worker of the order's kind; never throws.
    ///
    /// - Parameter transport: makes the client's transport; called at most once.
    public static func run(
        _ order: AttemptOrder, environment: [String: String], clock: any WallClock,
        transport: () throws -> any HTTPTransport,
        report: @escaping @Sendable (AttemptReport) -> Void,
        isEnding: @escaping @Sendable () -> Bool
    ) async -> Outcome {
        do {
            let options = JobOptions(order)
            let store = try HealthStore(
                stateDirectory: options.stateDirectory(), environment: environment,
                actor: AuditActor(order), clock: clock)
            let backend = try BackendOptions(order.options, prefix: "backend.")
            let transport = MeasuredTransport(try transport())
            let client = APIClient(
                base: backend.url, dialect: try backend.dialectChoice(),
                memory: StoredDialects(store), transport: transport,
                sessions: StoredSessions(store, backend: backend.url, environment: environment),
                clock: clock, retryWait: backend.retryWait)
            let context = WorkContext(
                order: order, store: store, client: client, transport: transport, clock: clock,
                zones: SourceZones(environment: environment), report: report, isEnding: isEnding)
            if store.wasUpgraded { context.note(HealthStore.upgradeNotice) }
            return await withTaskExecutorPreference(transport.executor) { await work(context) }
        } catch let error as TransportError {
            return outcome(of: APIError(error))
        } catch {
            return outcome(of: error)
        }
    }
}

extension BackendOptions {
    /// Returns the backend's dialect, or that it is to be detected.
    public func dialectChoice() throws(Failure) -> DialectChoice {
        guard dialect != "auto" else { return .auto }
        guard let dialect = Dialect.named(dialect) else {
            throw Failure(.configuration, "`backend.dialect` is not a known dialect")
        }
        return .fixed(dialect)
    }

    /// Returns which servers to trust as the backend.
    ///
    /// - Throws: `TransportError.refused` for pins that are not at least two.
    public func trust() throws(TransportError) -> CurlTransport.Trust {
        try CurlTransport.Trust(authorities: authorities, pinLines: pins)
    }
}

extension AttemptOrder {
    /// Returns which servers to trust as the backend, or as the job's own receiver.
    ///
    /// - Throws: `TransportError.refused` for pins that are not at least two; `Failure`.
    public func trust() throws -> CurlTransport.Trust {
        guard kind == .auditUpload else {
            return try BackendOptions(options, prefix: "backend.").trust()
        }
        // The receiver of the audit log is another server, with trust settings of its own.
        let receiver = try AuditUploadOptions(options)
        return try CurlTransport.Trust(authorities: receiver.authorities, pinLines: receiver.pins)
    }
}
