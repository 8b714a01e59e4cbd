import ClarityClient
public import ClarityTransport
import ClarityContract
import ClarityJobs
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
            let base = try options.backendURL()
            let transport = MeasuredTransport(try transport())
            let client = APIClient(
                base: base, dialect: try options.dialect(), memory: StoredDialects(store),
                transport: transport,
                sessions: StoredSessions(store, backend: base, environment: environment),
                clock: clock, retryWait: try options.retryWait())
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
