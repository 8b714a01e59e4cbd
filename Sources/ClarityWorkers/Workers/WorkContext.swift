public import ClarityJobs
public import ClarityScheduler

/// Everything that one attempt works with.
public struct WorkContext: Sendable {
    public let order: AttemptOrder
    public let store: HealthStore
    public let client: APIClient
    /// What the client sends with, for work that is not with the backend.
    public let transport: any HTTPTransport
    public let clock: any WallClock
    /// Where the zones of sources come from.
    let zones: SourceZones
    /// When the attempt began, on the clock that never steps.
    let startedAt: Duration
    /// Tells the scheduler how the work goes.
    public let report: @Sendable (AttemptReport) -> Void
    /// Whether the work was told that its time ends.
    public let isEnding: @Sendable () -> Bool
    /// Whether nothing is sent, and what the store then holds is only what might be.
    public let isRehearsal: Bool

    /// Creates a context of an attempt that begins now.
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

    /// Ends the work where it can be taken up again.
    ///
    /// - Throws: `WorkStopped` once the work was told that its time ends.
    func checkTime() throws(WorkStopped) {
        if isEnding() { throw WorkStopped() }
    }

    /// Reports something for people.
    func note(_ text: String) { report(.note(text.forReport)) }
}

/// The work was told that its time ends, and left the rest for later.
struct WorkStopped: Error {}

/// Counts that are reported as they grow.
struct WorkCounts {
    private var tally = Tally()
    private let report: @Sendable (AttemptReport) -> Void

    init(_ context: WorkContext) { report = context.report }

    subscript(name: String) -> Int64 { tally[name] }

    /// Adds to a count; the first time also reports a 0, so that what did not happen can be seen.
    mutating func add(_ amount: some BinaryInteger, to name: String) {
        let isNew = !tally.names.contains(name)
        guard amount != 0 || isNew else { return }
        tally[name] += Int64(amount)
        report(.count(name: name, tally[name]))
    }
}

extension String {
    /// The text as a report can hold it and a terminal show it, whoever wrote the parts of it.
    ///
    /// At most 900 bytes, which remain below `AttemptReport.longestLine` when each is escaped. What
    /// steers a terminal or turns the direction of the text is replaced by U+FFFD.
    var forReport: String {
        var shown = UnicodeScalarView()
        for scalar in cut(toBytes: 900).unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: shown.append("\u{FFFD}")
            default: shown.append(scalar)
            }
        }
        return String(shown)
    }

    /// The text, or as much of it as fits `limit` bytes with `...` at its end.
    func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var cut = ""
        var size = 3
        for character in self {
            size += character.utf8.count
            if size > limit { break }
            cut.append(character)
        }
        return cut + "..."
    }
}
