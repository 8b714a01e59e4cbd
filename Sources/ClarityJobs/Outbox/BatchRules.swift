/// Why a sample is kept back by this program's own judgement.
///
/// The raw value is the name in the store; it never changes.
public enum OutboxHold: String, CaseIterable, Hashable, Sendable {
    /// Its kind is not taken where samples go now; set aside, and queued again as soon as it is.
    case kind
    /// Its value is none that is taken; rejected, and queued again when other rules take it.
    case range
    /// It is dated in the future; set aside, and queued again when that has come.
    case future
    /// It may have arrived, and sending it again could double it; set aside for a person.
    case doubt

    /// Where such a sample stands: `rejected` says that something is wrong with it, `setAside` that
    /// it waits.
    public var state: OutboxState { self == .range ? .rejected : .setAside }
}

/// What a batch must keep to so that the backend takes all of it, and what sending it twice means.
public struct BatchRules: Sendable {
    /// Why a sample is not sent; says nothing of its value.
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

    /// By which door the batch goes.
    public var route: UploadRoute
    /// The most samples of one request, at least 1.
    public var samples: Int
    /// The most samples of one type in one request, at least 1; `nil`: any number.
    public var perType: Int?
    /// The most bytes of one request.
    public var bytes: Int
    /// The most requests of an hour; `nil`: any number.
    public var requestsPerHour: Int?
    /// Whether a batch that is sent again leaves nothing double.
    public var isIdempotent: Bool
    /// Whether a batch that may have arrived is sent again where that could double it; else its
    /// samples are set aside.
    public var resends: Bool
    /// Whether new batches go by the route; else only those that were made for it.
    public var takesNew = true
    /// The backend's type for each kind that it takes; a kind that is missing here is not taken.
    public var types: [SampleKind: String]
    /// What is said of a sample whose kind is not taken.
    public var kindReason: String
    /// What speaks against a sample of a kind that is taken.
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

    /// Why a sample is not sent; `nil` when it is.
    func judge(_ sample: Sample) -> Refusal? {
        types[sample.kind] == nil ? Refusal(.kind, kindReason) : refusal(sample)
    }

    /// Whether these samples may be one request.
    func fits(_ batch: [Sample]) -> Bool {
        batch.allSatisfy { judge($0) == nil }
            && choose(batch.map(\.kind), limit: samples).count == batch.count
            && prefix(of: batch) == batch.count
    }

    /// The places of the samples that go into one request: the first that keep to the limits, in
    /// their order.
    ///
    /// - Parameter limit: how many are wanted, at least 1.
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

    /// How many of these samples, from the first on, are surely no more than `bytes`; at least one,
    /// which alone is at fault when it is larger.
    ///
    /// - Parameter room: the bytes that there are, should they be fewer.
    func prefix(of batch: [Sample], within room: Int64 = .max) -> Int {
        let bytes = min(Int64(bytes), room)
        var size = BatchRules.envelopeBytes
        for (place, sample) in batch.enumerated() {
            size += sample.mostBytes
            if size > bytes { return max(1, place) }
        }
        return batch.count
    }

    /// The most bytes of a request of these samples.
    static func mostBytes(of batch: [Sample]) -> Int {
        batch.reduce(envelopeBytes) { $0 + $1.mostBytes }
    }

    /// More than a request takes around its samples.
    static let envelopeBytes = 2048
}

extension Sample {
    /// More than the sample takes in a request, whatever its form there: names, ids and numbers have
    /// known lengths, and a byte of the source's name takes six where JSON must escape it.
    var mostBytes: Int {
        let own =
            switch value {
            case .single, .pressure: 768
            case .sleep, .activity: 1280
            }
        return own + 6 * (source?.utf8.count ?? 0)
    }
}
