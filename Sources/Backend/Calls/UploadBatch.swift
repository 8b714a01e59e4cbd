public import HealthModel
public import ClarityScheduler

/// A sample, and the id under which the backend stores it.
public struct UploadMetric: Hashable, Sendable {
    /// A UUID, the same for the same sample at every try: the backend refuses an id that it has.
    public var id: String
    public var sample: Sample

    /// Creates a metric.
    public init(id: String, sample: Sample) {
        self.id = id
        self.sample = sample
    }
}

/// The content of one upload; the same batch has the same bytes at every try.
public struct UploadBatch: Hashable, Sendable {
    /// The outbox's id of the batch, at most 1,024 characters; sent as the sync token, so that the
    /// backend's operator can tell a repeated upload from a new one.
    public var id: String
    public var userID: String
    /// When the batch was made; stored with it, because a later try must not change it.
    public var clientTimestamp: Instant
    /// At least one metric, and at most the dialect's limit.
    public var metrics: [UploadMetric]
    /// The endpoint that the batch goes to; stored with it as well.
    public var route: UploadRoute

    /// Creates a batch.
    public init(
        id: String, userID: String, clientTimestamp: Instant, metrics: [UploadMetric],
        route: UploadRoute = .metrics
    ) {
        self.id = id
        self.userID = userID
        self.clientTimestamp = clientTimestamp
        self.metrics = metrics
        self.route = route
    }
}

/// The backend's answer about each metric of an upload.
///
/// Indices are those of the batch's `metrics`, ascending, each in at most one of the lists.
public struct UploadReceipt: Hashable, Sendable {
    /// A metric that the backend refused.
    public struct Rejection: Hashable, Sendable {
        public var index: Int
        /// The backend's code and its name for the field; holds no value and none of its sentences.
        public var reason: String
        /// The backend's sentence without numbers and quotations; to be stored encrypted.
        public var words: String?
    }

    /// The id to pass to `APIClient.processing`; `nil` if the backend accepted nothing new.
    public var processingID: String?
    /// The number of metrics that are new to the backend.
    public var accepted: Int
    /// The metrics that the backend already had.
    public var duplicates: [Int] = []
    public var rejected: [Rejection] = []
    /// The number of metrics that the answer neither counts as accepted nor names. If it is not 0,
    /// nothing shows which they are; sending them again is harmless.
    public var unexplained = 0
    /// Whether the answer proves that what was accepted is stored.
    public var isStored = false
}

// Uploads are health data: their descriptions and dumps show what they are, not what they hold.

extension UploadMetric: CustomStringConvertible, CustomReflectable {
    public var description: String { "metric `\(id)`" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension UploadBatch: CustomStringConvertible, CustomReflectable {
    public var description: String { "batch `\(id)` of \(metrics.count) metrics" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
