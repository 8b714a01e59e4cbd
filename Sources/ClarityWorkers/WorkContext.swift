public import ClarityClient
public import ClarityTransport
public import ClarityJobs
public import ClarityScheduler
import ClaritySystem

/// Everything that one attempt works with.
public struct WorkContext: Sendable {
    public let order: AttemptOrder
    public let store: HealthStore
    public let client: APIClient
    /// The client's transport, for requests to servers other than the backend.
    public let transport: any HTTPTransport
    public let clock: any WallClock
    /// The time zones that sources can name.
    let zones: SourceZones
    /// When the attempt began, on the monotonic clock.
    let startedAt: Duration
    /// Reports to the scheduler how the work goes.
    public let report: @Sendable (AttemptReport) -> Void
    /// Whether the work was warned that its time ends.
    public let isEnding: @Sendable () -> Bool
    /// Whether this is a dry run: nothing is sent, and the store is a private copy.
    public let isRehearsal: Bool

    /// Creates the context of an attempt that begins now.
    public init(
        order: AttemptOrder, store: HealthStore, client: APIClient,
        transport: any HTTPTransport, clock: any WallClock,
        zones: SourceZones = SourceZones(environment: [:]),
        report: @escaping @Sendable (AttemptReport) -> Void,
        isEnding: @escaping @Sendable () -> Bool, isRehearsal: Bool = false
    ) {
        self.order = order
        self.store = store
        self.client = client
        self.transport = transport
        self.clock = clock
        self.zones = zones
        startedAt = clock.elapsed
        self.report = report
        self.isEnding = isEnding
        self.isRehearsal = isRehearsal
    }

    /// Ends the work at a point where it can be resumed.
    ///
    /// - Throws: `WorkStopped` once the work was warned that its time ends.
    func checkTime() throws(WorkStopped) {
        if isEnding() { throw WorkStopped() }
    }

    /// Reports something for people.
    func note(_ text: String) { report(.note(text.forReport)) }
}

/// The work was warned that its time ends, and left the rest for later.
struct WorkStopped: Error {}

/// Counts that are reported as they grow.
struct WorkCounts {
    private var tally = Tally()
    private let report: @Sendable (AttemptReport) -> Void

    init(_ context: WorkContext) { report = context.report }

    subscript(name: String) -> Int64 { tally[name] }

    /// Adds to a count. The first time it also reports a 0, so that zeros are visible.
    mutating func add(_ amount: some BinaryInteger, to name: String) {
        let isNew = !tally.names.contains(name)
        guard amount != 0 || isNew else { return }
        tally[name] += Int64(amount)
        report(.count(name: name, tally[name]))
    }
}
