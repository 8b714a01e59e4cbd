public import HealthModel

/// The reason why clarity-jobs itself does not send a sample.
///
/// The raw value is stored in the database and never changes.
public enum OutboxHold: String, CaseIterable, Hashable, Sendable {
    /// No route for new batches accepts the kind. The sample is set aside, and queued again as soon
    /// as one does.
    case kind
    /// The value is not accepted. The sample is rejected, and queued again when other rules accept
    /// it.
    case range
    /// The sample is dated in the future. It is set aside, and queued again when that time has
    /// come.
    case future
    /// The sample is possibly sent, and resending could store it twice. It is set aside for a
    /// person.
    case possiblySent = "doubt"

    /// The state of such a sample: `rejected` if something is wrong with it, `setAside` if it
    /// waits.
    public var state: OutboxState { self == .range ? .rejected : .setAside }
}

/// The limits within which the backend accepts a whole batch, and what resending a batch means.
public struct BatchRules: Sendable {
    /// The reason why a sample is not sent; contains nothing of its value.
    public struct Refusal: Hashable, Sendable {
        public var hold: OutboxHold
        /// A lowercase fragment for people.
        public var reason: String

        /// Creates a refusal.
        public init(_ hold: OutboxHold, _ reason: String) {
            self.hold = hold
            self.reason = reason
        }
    }

    /// The endpoint to which the batch is sent.
    public var route: UploadRoute
    /// The most samples in one request, at least 1.
    public var samples: Int
    /// The most samples of one type in one request, at least 1; `nil` for no limit.
    public var perType: Int?
    /// The most bytes in one request.
    public var bytes: Int
    /// The most requests in an hour; `nil` for no limit.
    public var requestsPerHour: Int?
    /// Whether the backend deduplicates a batch that is resent.
    public var isIdempotent: Bool
    /// Whether a possibly sent batch is resent even where that could store its samples twice. If
    /// not, its samples are set aside.
    public var resends: Bool
    /// Whether new batches use the route. If not, it only sends the batches that were made for it.
    public var takesNew = true
    /// The backend's type for each kind that it accepts. A kind that is missing here is not
    /// accepted.
    public var types: [SampleKind: String]
    /// The reason given for a sample whose kind is not accepted.
    public var kindReason: String
    /// Returns why a sample of an accepted kind is not sent; `nil` if it is.
    public var refusal: @Sendable (Sample) -> Refusal?

    /// Creates rules.
    public init(
        route: UploadRoute, samples: Int, perType: Int? = nil, bytes: Int,
        requestsPerHour: Int? = nil, isIdempotent: Bool = true, resends: Bool = true,
        types: [SampleKind: String], kindReason: String = "its kind is not taken",
        refusal: @escaping @Sendable (Sample) -> Refusal? = { _ in nil }
    ) {
        self.route = route
        self.samples = samples
        self.perType = perType
        self.bytes = bytes
        self.requestsPerHour = requestsPerHour
        self.isIdempotent = isIdempotent
        self.resends = resends
        self.types = types
        self.kindReason = kindReason
        self.refusal = refusal
    }

    /// Returns why a sample is not sent; `nil` if it is.
    func judge(_ sample: Sample) -> Refusal? {
        types[sample.kind] == nil ? Refusal(.kind, kindReason) : refusal(sample)
    }

    /// Whether these samples may form one request.
    func fits(_ batch: [Sample]) -> Bool {
        batch.allSatisfy { judge($0) == nil }
            && choose(batch.map(\.kind), limit: samples).count == batch.count
            && prefix(of: batch) == batch.count
    }

    /// Returns the indices of the samples for one request: the first that stay within the limits,
    /// in ascending order.
    ///
    /// - Parameter limit: how many samples are wanted, at least 1.
    func choose(_ kinds: [SampleKind], limit: Int) -> [Int] {
        var chosen: [Int] = []
        var ofType: [String: Int] = [:]
        for (place, kind) in kinds.enumerated() {
            guard chosen.count < min(limit, samples) else { break }
            guard let type = types[kind] else { continue }
            if let perType, ofType[type, default: 0] >= perType { continue }
            ofType[type, default: 0] += 1
            chosen.append(place)
        }
        return chosen
    }

    /// Returns how many samples, counted from the first, surely take no more than `bytes`.
    ///
    /// The result is at least 1 for a batch that is not empty, even if its first sample alone is
    /// too large.
    ///
    /// - Parameter room: a smaller limit in bytes, if there is one.
    func prefix(of batch: [Sample], within room: Int64 = .max) -> Int {
        let bytes = min(Int64(bytes), room)
        var size = BatchRules.envelopeBytes
        for (place, sample) in batch.enumerated() {
            size += sample.mostBytes
            if size > bytes { return max(1, place) }
        }
        return batch.count
    }

    /// Returns an upper bound for the bytes of a request with these samples.
    static func mostBytes(of batch: [Sample]) -> Int {
        batch.reduce(envelopeBytes) { $0 + $1.mostBytes }
    }

    /// An upper bound for the bytes of a request around its samples.
    static let envelopeBytes = 2048
}

extension Sample {
    /// An upper bound for the bytes of the sample in a request, whatever the request's format.
    ///
    /// Names, ids and numbers have known lengths. A byte of the source's name takes up to six bytes
    /// where JSON must escape it.
    var mostBytes: Int {
        let own =
            switch value {
            case .single, .pressure: 768
            case .sleep, .activity: 1280
            case .values(let values): 1280 + 6 * (values.text?.utf8.count ?? 0)
            }
        return own + 6 * (source?.utf8.count ?? 0)
    }
}
