public import HealthModel
public import ClarityScheduler

/// The rules for an upload, whatever the dialect.
public struct UploadRules: Hashable, Sendable {
    /// The backend's rules for one kind of sample.
    public struct Kind: Hashable, Sendable {
        /// The backend's name for the metric; several kinds may share one.
        public var metricType: String
        /// The accepted numbers, one range for each number of a sample; empty if every number is
        /// accepted.
        ///
        /// The range of a night is for its minutes asleep. The values of a day are checked against
        /// the ranges of their own kinds, and the day leaves out those that are outside.
        public var ranges: [ClosedRange<Double>] = []

        func allows(_ numbers: [Double]) -> Bool {
            zip(ranges, numbers).allSatisfy { $0.contains($1) }
        }
    }

    public var route: UploadRoute
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
    public var takesFuture = true
    /// The accepted kinds; samples of other kinds are never sent.
    public var kinds: [SampleKind: Kind]

    /// Returns the metric type that samples of a kind count as; `nil` if the kind is not accepted.
    public func metricType(of kind: SampleKind) -> String? { kinds[kind]?.metricType }

    /// Returns why the backend would refuse a sample; `nil` if nothing speaks against it.
    ///
    /// - Parameter now: the instant that the sample's times are compared with; pass the time of
    ///   sending.
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
            case .values(let values): isSendable(values)
            }
        guard isInRange else { return .outOfRange }
        if !takesFuture, max(sample.start, sample.end) > now { return .inFuture }
        return nil
    }
}

extension UploadRules {
    /// Returns the values of a day that can be sent: those within the range of their own kind. A
    /// value that is out of range does not hold back the others.
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

extension UploadRules {
    /// Whether each value is within the range of the kind of the same name, if that has one.
    private func isSendable(_ values: MeasuredValues) -> Bool {
        values.numbers.allSatisfy { measure, number in
            SampleKind(rawValue: measure.rawValue).flatMap { kinds[$0] }?.allows([number]) ?? true
        }
    }
}

extension Sample {
    /// Whether the value fits its kind, and each part of it can be written as a JSON number.
    package var hasValueOfItsKind: Bool {
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

/// Why a sample is not sent; contains nothing of its value.
public enum UploadRefusal: Hashable, Sendable, CaseIterable {
    /// The backend has no field for the kind.
    case kindNotAccepted
    /// A number is outside the range that the backend accepts.
    case outOfRange
    /// The value is not a finite number, or does not fit its kind.
    case notANumber
    /// The sample is dated in the future, and may be accepted later.
    case inFuture

    /// Whether the backend may accept the same sample later.
    public var mayPass: Bool { self == .inFuture }
}

extension UploadRefusal: CustomStringConvertible {
    /// A lowercase fragment for people, without a final period.
    public var description: String {
        switch self {
        case .kindNotAccepted: "the backend does not accept this kind"
        case .outOfRange: "its value is outside the range that the backend accepts"
        case .notANumber: "its value is no number that can be sent"
        case .inFuture: "it is dated in the future"
        }
    }
}
