public import ClarityScheduler

/// Where a sample stands on its way to the backend.
public enum OutboxState: String, CaseIterable, Sendable {
    /// Waits to be sent.
    case queued
    /// Is in a batch that is being sent, or was when its process ended.
    case sending
    /// The backend took it and is processing it.
    case accepted
    /// The backend has it and has processed it.
    case confirmed
    /// The backend has it and says no more about it.
    case stored
    /// The backend took it and never said what became of it.
    case unconfirmed
    /// The backend refused it, or would by its own rules.
    case rejected
    /// Waits: for a person after 5 failures or when it may have arrived, else for what its
    /// `OutboxHold` says.
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
    /// By which door it goes, each time.
    public let route: UploadRoute
    /// How often it was taken up, this time included.
    public let attempts: Int
    /// How many earlier sends of it may have arrived where a further one doubles it.
    public let doubts: Int
    /// The samples in the order in which they are sent.
    public let samples: [Sample]
    /// Their rows, in the same order.
    let rows: [Int64]
    /// The attempt that sends it; with `attempts` it tells this send from every other.
    let owner: Int64
    /// Where its bytes are counted, when they go over a metered connection.
    var meteredEntry: Int64?

    /// Whether an earlier attempt may have sent it already.
    public var isRepeated: Bool { attempts > 1 }
}

/// What taking the next batch out of the outbox came to.
public struct OutboxDraw: Sendable {
    /// Samples that were found not to be sent now, without their values.
    public struct Refused: Hashable, Sendable {
        public var kind: String
        public var hold: OutboxHold
        /// Why, as a lowercase fragment.
        public var reason: String
    }

    /// The batch to send; `nil` when nothing is to be sent now.
    public var batch: OutboxBatch?
    /// How long nothing may be sent, when something waits and the hour's requests are used up.
    public var wait: Duration?
    /// How long until what waits may fit the metered budget, at most an hour; `nil` when the budget
    /// holds nothing back.
    public var meteredWait: Duration?
    /// The samples of batches that other living attempts send; counted where there is no batch.
    public var sentElsewhere: Int64 = 0
    /// What was kept back on the way, with how many of each.
    public var refused: [Refused: Int64] = [:]

    init() {}
}

/// What happened when samples were put into the outbox.
public struct EnqueueCounts: Hashable, Sendable {
    /// Measurements that were not known.
    public var queued: Int64 = 0
    /// Measurements that are in the outbox already, in whatever state.
    public var duplicates: Int64 = 0
    /// Measurements that began before the instant from which on they are wanted.
    public var beforeSince: Int64 = 0
    /// Days and nights of which nothing was known.
    public var metricsQueued: Int64 = 0
    /// Days and nights that are in the outbox with the same value.
    public var metricsKnown: Int64 = 0
    /// Days and nights that took the place of a former value, which was not sent.
    public var replaced: Int64 = 0
    /// Days and nights that follow a former value, which was sent.
    public var corrected: Int64 = 0
    /// Days that were sent as the days of another time zone, and stay as they were sent.
    public var keptAsSent: Int64 = 0
    /// Days and nights that began before the instant from which on they are wanted.
    public var metricsBeforeSince: Int64 = 0
    /// Days and nights that can be none.
    public var metricsRefused: Int64 = 0

    /// Creates counts of nothing.
    public init() {}

    init(queued: Int64, duplicates: Int64) {
        self.queued = queued
        self.duplicates = duplicates
    }

    /// Everything that is new in the outbox.
    public var added: Int64 { queued + metricsQueued + replaced + corrected }

    /// The days and nights that were handed over.
    public var metrics: Int64 {
        metricsQueued + metricsKnown + replaced + corrected + keptAsSent + metricsBeforeSince
            + metricsRefused
    }

    /// Adds each count to its own.
    public static func += (counts: inout EnqueueCounts, more: EnqueueCounts) {
        counts.queued += more.queued
        counts.duplicates += more.duplicates
        counts.beforeSince += more.beforeSince
        counts.metricsQueued += more.metricsQueued
        counts.metricsKnown += more.metricsKnown
        counts.replaced += more.replaced
        counts.corrected += more.corrected
        counts.keptAsSent += more.keptAsSent
        counts.metricsBeforeSince += more.metricsBeforeSince
        counts.metricsRefused += more.metricsRefused
    }
}

/// The samples of a batch whose rows an answer changed; all 0 when another attempt has the batch by
/// now.
public struct Settlement: Hashable, Sendable {
    /// Accepted, or taken without a word on what becomes of them.
    public var accepted: Int64 = 0
    /// Confirmed, since the backend had them.
    public var known: Int64 = 0
    public var rejected: Int64 = 0
    /// Back in the queue: the backend has them and could not process them.
    public var requeued: Int64 = 0
    /// Set aside for the same reason.
    public var setAside: Int64 = 0
    /// Of those that the backend has, how many it may have more than once.
    public var doubled: Int64 = 0
    /// The fewest failures of those that are back in the queue.
    public var failures: Int64?

    init() {}
}

/// An upload that the backend accepted and has not finished.
public struct OpenUpload: Hashable, Sendable {
    /// The batch.
    public let id: Int64
    /// The backend's name for it.
    public let processingID: String
    public let acceptedAt: Instant
    /// By which door it went, and is asked for.
    public let route: UploadRoute
    /// The samples that hang on it.
    public let sampleCount: Int64
    /// Whether its samples count as unconfirmed.
    public let isGivenUp: Bool
}
