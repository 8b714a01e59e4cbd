import ClarityJobs

/// One of a backend's doors for samples: its limits, and how it has them written.
struct UploadEndpoint: Hashable, Sendable {
    /// The object that holds a metric's numbers.
    struct Payload: Hashable, Sendable {
        var name: String
        /// The field for the instant of measurement, where the object has one.
        var timestamp: String?

        init(_ name: String, timestamp: String? = nil) {
            self.name = name
            self.timestamp = timestamp
        }
    }

    /// How one kind of sample is written as a typed metric.
    struct Field: Hashable, Sendable {
        var metricType: String
        var payload: Payload
        /// The names of the sample's numbers: one, or systolic and diastolic. A night has the names
        /// of `JSONWriter.fields(of:)`; a day has none, since each of its values goes by the field
        /// of its own kind.
        var names: [String]
        /// The numbers that are taken, one range for each name; empty: any.
        var ranges: [ClosedRange<Double>]
        /// Whether the backend counts, so that a number is rounded to a whole one.
        var isWhole: Bool

        init(
            _ metricType: String, _ payload: Payload, _ names: String...,
            in ranges: [ClosedRange<Double>] = [], isWhole: Bool = false
        ) {
            self.metricType = metricType
            self.payload = payload
            self.names = names
            self.ranges = ranges
            self.isWhole = isWhole
        }
    }

    /// What a body looks like.
    enum Form: Hashable, Sendable {
        /// Typed metrics; the kinds that are missing are not accepted.
        case metrics([SampleKind: Field])
        /// Samples as HealthKit has them, of every kind.
        case healthKit
    }

    var call: APICall
    var statusCall: APICall
    var form: Form
    /// The backend's name for where uploaded samples came from.
    var source: String
    var samplesPerRequest: Int
    var perType: Int?
    var requestBytes: Int
    var requestsPerHour: Int?
    var isIdempotent: Bool
    var takesFuture: Bool
    /// What the backend calls the whole of its work when it says how much is done; `nil` when what
    /// it says is not about the upload.
    var wholeProgress: Double?
    /// The word that the backend reads from the stored upload when nothing more follows; `nil` where
    /// an upload is processed.
    var storedWord: String? = nil

    /// The kinds that are accepted, with what is wanted of each.
    var kinds: [SampleKind: UploadRules.Kind] {
        switch form {
        case .metrics(let fields):
            fields.mapValues { UploadRules.Kind($0.metricType, ranges: $0.ranges) }
        case .healthKit:
            Dictionary(
                uniqueKeysWithValues: SampleKind.allCases.map {
                    ($0, UploadRules.Kind(HealthKitForm(of: $0).type))
                })
        }
    }

    /// The same for those who pack.
    func rules(_ route: UploadRoute) -> UploadRules {
        UploadRules(
            route: route, samplesPerRequest: samplesPerRequest, perType: perType,
            requestBytes: requestBytes, requestsPerHour: requestsPerHour,
            isIdempotent: isIdempotent, takesFuture: takesFuture, kinds: kinds)
    }
}
