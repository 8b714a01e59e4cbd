public import ClarityJobs
public import ClarityScheduler

/// A sample with the id under which the backend keeps it.
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

/// What one upload sends; the same batch is the same bytes at every try.
public struct UploadBatch: Hashable, Sendable {
    /// The outbox's name for the batch; not sent.
    public var id: String
    public var userID: String
    /// When the batch was made; kept with it, since a later try must not change it.
    public var clientTimestamp: Instant
    /// At least one, at most the dialect's limit.
    public var metrics: [UploadMetric]
    /// By which door it goes; kept with it as well.
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

/// What the backend said of each metric of an upload.
///
/// Indices are those of the batch's `metrics`, rising, each in one of the lists at most.
public struct UploadReceipt: Hashable, Sendable {
    /// A metric that the backend does not take.
    public struct Rejection: Hashable, Sendable {
        public var index: Int
        /// The backend's code and its name of the field; no value and none of its sentences.
        public var reason: String
        /// The backend's sentence without numbers and quotations; to be kept sealed.
        public var words: String?

        /// Creates a rejection.
        public init(index: Int, reason: String, words: String? = nil) {
            self.index = index
            self.reason = reason
            self.words = words
        }
    }

    /// Under which `APIClient.processing` asks; `nil` when the backend took nothing new.
    public var processingID: String?
    /// How many metrics are new to the backend.
    public var accepted: Int
    /// The metrics that the backend already had.
    public var duplicates: [Int]
    public var rejected: [Rejection]
    /// How many metrics the answer leaves open: neither counted as accepted nor named. When it is
    /// not 0, nothing tells which; sending them again is harmless.
    public var unexplained: Int

    /// Creates a receipt.
    public init(
        processingID: String?, accepted: Int, duplicates: [Int] = [], rejected: [Rejection] = [],
        unexplained: Int = 0
    ) {
        self.processingID = processingID
        self.accepted = accepted
        self.duplicates = duplicates
        self.rejected = rejected
        self.unexplained = unexplained
    }
}

// What is uploaded is health data: printed or dumped it shows what it is, not what it holds.

extension UploadMetric: CustomStringConvertible, CustomReflectable {
    public var description: String { "metric `\(id)`" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension UploadBatch: CustomStringConvertible, CustomReflectable {
    public var description: String { "batch `\(id)` of \(metrics.count) metrics" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
