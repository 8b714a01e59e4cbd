public import ClarityScheduler

/// Where a sample stands on its way to the backend.
public enum OutboxState: String, CaseIterable, Sendable {
    /// Waits to be sent.
    case queued
    /// Is in a batch that is being sent, or was when its process ended.
    case sending
    /// The backend took it and is processing it.
    case accepted
    /// The backend has it.
    case confirmed
    /// The backend took it and never said what became of it.
    case unconfirmed
    /// The backend refused it.
    case rejected
    /// Failed 5 times; waits for a person.
    case setAside

    /// The failures after which a sample is set aside.
    public static var failureLimit: Int { 5 }
}

/// How many samples are in each state.
public struct OutboxCounts: Hashable, Sendable {
    private var counts: [OutboxState: Int64] = [:]

    init() {}

    /// The samples in a state.
    public internal(set) subscript(state: OutboxState) -> Int64 {
        get { counts[state] ?? 0 }
        set { counts[state] = newValue }
    }

    /// The samples in any state.
    public var total: Int64 { counts.values.reduce(0, +) }
}

/// A batch that is being sent, as it is kept: the same members, order and timestamp each time, so
/// that its request is the same byte for byte.
public struct OutboxBatch: Sendable, PrivateValue {
    public let id: Int64
    /// When the batch was made.
    public let clientTimestamp: Instant
    /// How often it was taken up, this time included.
    public let attempts: Int
    /// The samples in the order in which they are sent.
    public let samples: [Sample]
    /// Their rows, in the same order.
    let rows: [Int64]

    /// Whether an earlier attempt may have sent it already.
    public var isRepeated: Bool { attempts > 1 }
}

/// What happened when samples were put into the outbox.
public struct EnqueueCounts: Hashable, Sendable {
    /// Those that were not known.
    public var queued: Int64 = 0
    /// Those that are in the outbox already, in whatever state.
    public var duplicates: Int64 = 0

    /// Creates counts of nothing.
    public init() {}

    init(queued: Int64, duplicates: Int64) {
        self.queued = queued
        self.duplicates = duplicates
    }
}

/// What `HealthStore.split` made of a refused batch.
public enum BatchSplit: Hashable, Sendable {
    /// Two smaller batches, to be sent next.
    case halved
    /// Its only sample is rejected.
    case rejected
}

/// An upload that the backend accepted and has not finished.
public struct OpenUpload: Hashable, Sendable {
    /// The batch.
    public let id: Int64
    /// The backend's name for it.
    public let processingID: String
    public let acceptedAt: Instant
    /// The samples that hang on it.
    public let sampleCount: Int64
}
