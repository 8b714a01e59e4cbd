public import ClarityScheduler

/// The endpoint of the backend to which samples are sent; stored with each batch, opaque elsewhere.
///
/// The raw value is the name in the database and in job files; it never changes.
public enum UploadRoute: String, CaseIterable, Hashable, Sendable {
    /// Typed metrics of health data.
    case metrics
    /// Samples as HealthKit has them.
    case samples
}

/// One endpoint of a backend for samples: its limits, the format of its bodies, and which samples
/// it accepts. The outbox makes batches by it, and the client writes them by it.
public struct UploadEndpoint: Hashable, Sendable {
    /// The format of a body.
    public enum BodyFormat: Hashable, Sendable {
        /// Typed metrics; a kind that is missing is not accepted.
        case metrics([SampleKind: UploadField])
        /// Samples as HealthKit writes them, of every kind.
        case healthKit
    }

    /// What proves that an upload is stored.
    public enum StorageProof: Hashable, Sendable {
        /// The end of its processing, which the backend reports.
        case processing
        /// A status with this word, which the backend reads from the stored upload. No other status
        /// follows.
        case status(String)
        /// The answer to the upload itself. No status tells more.
        case acceptance
    }

    public var route: UploadRoute
    public var format: BodyFormat
    /// The backend's name for the origin of uploaded samples.
    public var source = "apple_health"
    /// The most samples in one request, at least 1.
    public var samplesPerRequest: Int
    /// The most samples of one metric type in one request, at least 1; `nil` if there is no limit.
    /// The backend accepts the samples above the limit and loses them.
    public var perType: Int?
    /// The most bytes of one request's body.
    public var requestBytes: Int
    /// The client's own budget of requests in an hour; `nil` if there is none.
    public var requestsPerHour: Int?
    /// Whether a repeated upload leaves no duplicates at the backend.
    public var isIdempotent: Bool
    /// Whether a sample may begin or end later than now.
    public var takesFuture: Bool
    /// The number with which the backend reports that all of its work is done; `nil` if its
    /// progress is not about the upload.
    public var wholeProgress: Double?
    public var storageProof: StorageProof

    // How a job uses the endpoint.

    /// Whether a batch in doubt is resent even where that could store its samples twice. If
    /// not, its samples are set aside.
    public var resends = true
    /// Whether new batches use the route. If not, it only sends the batches that were made for it.
    public var takesNew = true

    /// Creates an endpoint.
    public init(
        route: UploadRoute, format: BodyFormat, samplesPerRequest: Int, perType: Int? = nil,
        requestBytes: Int, requestsPerHour: Int? = nil, isIdempotent: Bool,
        takesFuture: Bool = true, wholeProgress: Double? = nil,
        storageProof: StorageProof = .processing
    ) {
        self.route = route
        self.format = format
        self.samplesPerRequest = samplesPerRequest
        self.perType = perType
        self.requestBytes = requestBytes
        self.requestsPerHour = requestsPerHour
        self.isIdempotent = isIdempotent
        self.takesFuture = takesFuture
        self.wholeProgress = wholeProgress
        self.storageProof = storageProof
    }

    /// Returns the backend's type that samples of a kind count as; `nil` if the kind is not
    /// accepted. Several kinds may share one type.
    public func metricType(of kind: SampleKind) -> String? {
        switch format {
        case .metrics(let fields): fields[kind]?.metricType
        case .healthKit: kind.facts.healthKit.type
        }
    }

    /// Returns the fields of a kind as a typed metric; `nil` if the endpoint has none for it.
    package func field(of kind: SampleKind) -> UploadField? {
        if case .metrics(let fields) = format { fields[kind] } else { nil }
    }
}

/// The fields of one kind of sample as a typed metric.
public struct UploadField: Hashable, Sendable {
    /// The object that holds a metric's numbers.
    public struct Payload: Hashable, Sendable {
        public var name: String
        /// The field for the instant of measurement, if the object has one.
        public var timestamp: String?

        public static let biometric = Payload(name: "biometric_data")
        public static let activity = Payload(name: "activity_data")
        public static let sleep = Payload(name: "sleep_data")
        public static let mind = Payload(name: "mental_health_data", timestamp: "timestamp")
    }

    public var metricType: String
    public var payload: Payload
    /// The names of the sample's numbers: one, or systolic and diastolic. A night uses names of its
    /// own. A day has none, because each of its values goes under the field of its own kind, and
    /// several measures have none, because each has its own name.
    public var names: [String]
    /// The accepted numbers, one range for each number of a sample; empty if every number is
    /// accepted.
    ///
    /// The range of a night is for its minutes asleep. The values of a day are checked against the
    /// ranges of their own kinds, and the day leaves out those that are outside.
    public var ranges: [ClosedRange<Double>]
    /// Whether the field is a count, so that a number is rounded to a whole one.
    public var isWhole: Bool

    /// Creates the fields of a kind.
    public init(
        _ metricType: String, _ payload: Payload, _ names: String...,
        in ranges: [ClosedRange<Double>] = [], isWhole: Bool = false
    ) {
        self.metricType = metricType
        self.payload = payload
        self.names = names
        self.ranges = ranges
        self.isWhole = isWhole
    }

    fileprivate func allows(_ numbers: Double...) -> Bool {
        zip(ranges, numbers).allSatisfy { $0.contains($1) }
    }
}

/// Why clarity-jobs itself does not send a sample; contains nothing of its value.
public enum UploadRefusal: Hashable, Sendable, CaseIterable {
    /// No route for new batches accepts the kind. The sample is set aside, and queued again as soon
    /// as one does.
    case kindNotAccepted
    /// A number is outside the range that the backend accepts. The sample is rejected, and queued
    /// again when another range accepts it.
    case outOfRange
    /// The value is not a finite number, or does not fit its kind. The sample is rejected.
    case notANumber
    /// The sample is dated in the future. It is set aside, and queued again when that time has
    /// come.
    case inFuture
    /// The sample is in doubt, and resending could store it twice. It is set aside for a
    /// person.
    case inDoubt
    /// The sample is in doubt, and a later value of the same day or night has followed it. It
    /// is set aside for a person.
    case followed

    /// The rule's name in the database, which never changes.
    public var rule: String {
        switch self {
        case .kindNotAccepted: "kind"
        case .outOfRange, .notANumber: "range"
        case .inFuture: "future"
        case .inDoubt, .followed: "doubt"
        }
    }

    /// Whether something is wrong with the sample; otherwise it waits.
    public var isRejection: Bool { self == .outOfRange || self == .notANumber }
}

extension UploadRefusal: CustomStringConvertible {
    /// A lowercase fragment for people, without a final period.
    public var description: String {
        switch self {
        case .kindNotAccepted: "the backend does not accept this kind"
        case .outOfRange: "its value is outside the range that the backend accepts"
        case .notANumber: "its value is no number that can be sent"
        case .inFuture: "it is dated in the future"
        case .inDoubt: "it may have arrived, and sending it again could double it"
        case .followed: "it may have arrived, and a later value has followed it"
        }
    }
}

extension UploadEndpoint {
    /// Returns why the backend would refuse a sample; `nil` if nothing speaks against it.
    ///
    /// - Parameter now: the instant that the sample's times are compared with; pass the time of
    ///   sending.
    public func refusal(of sample: Sample, at now: Instant) -> UploadRefusal? {
        guard metricType(of: sample.kind) != nil else { return .kindNotAccepted }
        guard sample.hasValueOfItsKind else { return .notANumber }
        guard isInRange(sample) else { return .outOfRange }
        if !takesFuture, max(sample.start, sample.end) > now { return .inFuture }
        return nil
    }

    private func isInRange(_ sample: Sample) -> Bool {
        guard let field = field(of: sample.kind) else { return true }
        return switch sample.value {
        case .single(let value): field.allows(value)
        case .pressure(let systolic, let diastolic):
            field.allows(Double(systolic), Double(diastolic))
        case .sleep(let night): field.allows(Double(night.totalMinutes))
        // A value that is out of range does not hold back the others.
        case .activity(let day):
            ActivityDay.kinds.contains { kind in
                day[kind].map { self.field(of: kind)?.allows($0) ?? true } ?? false
            }
        case .values(let values):
            values.numbers.allSatisfy { measure, number in
                SampleKind(rawValue: measure.rawValue).flatMap { self.field(of: $0) }?.allows(
                    number)
                    ?? true
            }
        }
    }
}

extension Sample {
    /// Whether the value fits its kind, and each part of it can be written as a JSON number.
    public var hasValueOfItsKind: Bool {
        switch (kind, value) {
        case (.bloodPressure, .pressure): true
        case (.sleep, .sleep(let night)): night.efficiency.isFinite
        case (.activity, .activity(let day)):
            !day.isEmpty && ActivityDay.kinds.allSatisfy { day[$0]?.isFinite ?? true }
        case (_, .values(let values)):
            !values.numbers.isEmpty
                && values.numbers.allSatisfy { measure, number in
                    kind.measures.contains(measure) && number.isFinite
                        && (measure != .mood || IntakeCheck.range(of: measure).contains(number))
                }
        case (.bloodPressure, _), (.sleep, _), (.activity, _): false
        case (_, .single(let number)): number.isFinite && kind.measures.isEmpty
        case (_, _): false
        }
    }
}
