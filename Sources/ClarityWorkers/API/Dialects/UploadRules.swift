public import ClarityJobs
public import ClarityScheduler

/// What an upload must keep to, whatever dialect is spoken.
public struct UploadRules: Hashable, Sendable {
    /// What the backend wants of one kind of sample.
    public struct Kind: Hashable, Sendable {
        /// The backend's name for what is measured; kinds may share one.
        public var metricType: String
        /// The numbers that are taken, one range for each number of a sample; empty: any. That of a
        /// night is for its minutes asleep; the values of a day are held against the ranges of
        /// their own kinds, and what is beyond is left out of it.
        public var ranges: [ClosedRange<Double>]

        /// Creates a rule.
        public init(_ metricType: String, ranges: [ClosedRange<Double>] = []) {
            self.metricType = metricType
            self.ranges = ranges
        }

        func allows(_ numbers: [Double]) -> Bool {
            zip(ranges, numbers).allSatisfy { $0.contains($1) }
        }
    }

    public var route: UploadRoute
    /// The most samples of one request, at least 1.
    public var samplesPerRequest: Int
    /// The most samples of one metric type in one request, at least 1; `nil`: any number. What is
    /// above it the backend takes and loses.
    public var perType: Int?
    /// The most bytes of one request's body.
    public var requestBytes: Int
    /// The requests of one hour, the client's own budget; `nil`: none.
    public var requestsPerHour: Int?
    /// Whether a repeated upload leaves nothing double at the backend.
    public var isIdempotent: Bool
    /// Whether a sample may begin or end later than now.
    public var takesFuture: Bool
    /// The kinds that are accepted; what is missing here is never sent.
    public var kinds: [SampleKind: Kind]

    /// Creates rules.
    public init(
        route: UploadRoute, samplesPerRequest: Int, perType: Int? = nil, requestBytes: Int,
        requestsPerHour: Int? = nil, isIdempotent: Bool, takesFuture: Bool = true,
        kinds: [SampleKind: Kind]
    ) {
        self.route = route
        self.samplesPerRequest = samplesPerRequest
        self.perType = perType
        self.requestBytes = requestBytes
        self.requestsPerHour = requestsPerHour
        self.isIdempotent = isIdempotent
        self.takesFuture = takesFuture
        self.kinds = kinds
    }

    /// The name by which samples of a kind are packed; `nil` when they are not accepted.
    public func metricType(of kind: SampleKind) -> String? { kinds[kind]?.metricType }

    /// Why the backend would not take a sample; `nil` when nothing speaks against it.
    ///
    /// - Parameter now: what a sample's instants are held against; it should be the time of sending.
    public func refusal(of sample: Sample, at now: Instant) -> UploadRefusal? {
        guard let kind = kinds[sample.kind] else { return .kindNotAccepted }
        guard sample.hasValueOfItsKind else { return .notANumber }
        let isInRange =
            switch sample.value {
            case .single(let value): kind.allows([value])
            case .pressure(let systolic, let diastolic):
                kind.allows([Double(systolic), Double(diastolic)])
            case .sleep(let night): kind.allows([Double(night.totalMinutes)])
            case .activity(let day): !sendable(day).isEmpty
            }
        guard isInRange else { return .outOfRange }
        if !takesFuture, max(sample.start, sample.end) > now { return .inFuture }
        return nil
    }
}

extension UploadRules {
    /// What of a day is sent: each value that is within the range of its own kind. One odd value costs
    /// a day no other.
    func sendable(_ day: ActivityDay) -> ActivityDay {
        var sendable = day
        for kind in ActivityDay.kinds {
            if let value = day[kind], let rule = kinds[kind], !rule.allows([value]) {
                sendable[kind] = nil
            }
        }
        return sendable
    }
}

extension Sample {
    /// Whether the value is one that its kind can have, and JSON has a number for each part of it.
    var hasValueOfItsKind: Bool {
        switch (kind, value) {
        case (.bloodPressure, .pressure): true
        case (.sleep, .sleep(let night)): night.efficiency.isFinite
        case (.activity, .activity(let day)):
            !day.isEmpty && ActivityDay.kinds.allSatisfy { day[$0]?.isFinite ?? true }
        case (.bloodPressure, _), (.sleep, _), (.activity, _): false
        case (_, .single(let number)): number.isFinite
        case (_, _): false
        }
    }
}

/// Why a sample is not sent; says nothing of its value.
public enum UploadRefusal: Hashable, Sendable, CaseIterable {
    /// The backend has no field for the kind.
    case kindNotAccepted
    /// A number is beyond what the backend takes.
    case outOfRange
    /// The value is no finite number, or another one than its kind has.
    case notANumber
    /// It is dated in the future, and may be taken later.
    case inFuture

    /// Whether the same sample may be taken later.
    public var mayPass: Bool { self == .inFuture }
}

extension UploadRefusal: CustomStringConvertible {
    /// What a person reads: a lowercase fragment without final period.
    public var description: String {
        switch self {
        case .kindNotAccepted: "the backend does not accept this kind"
        case .outOfRange: "its value is outside the range that the backend accepts"
        case .notANumber: "its value is no number that can be sent"
        case .inFuture: "it is dated in the future"
        }
    }
}
