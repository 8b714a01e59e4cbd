package import HealthModel

/// One endpoint of a backend for samples: its limits, and the format of its bodies.
package struct UploadEndpoint: Hashable, Sendable {
    /// The object that holds a metric's numbers.
    package struct Payload: Hashable, Sendable {
        package var name: String
        /// The field for the instant of measurement, if the object has one.
        package var timestamp: String?

        init(_ name: String, timestamp: String? = nil) {
            self.name = name
            self.timestamp = timestamp
        }
    }

    /// The fields of one kind of sample as a typed metric.
    package struct Field: Hashable, Sendable {
        package var metricType: String
        package var payload: Payload
        /// The names of the sample's numbers: one, or systolic and diastolic. A night uses the
        /// names of `JSONWriter.fields(of:)`. A day has none, because each of its values goes under
        /// the field of its own kind, and several measures have none, because each has its own name.
        package var names: [String]
        /// The accepted numbers, one range for each name; empty if every number is accepted.
        package var ranges: [ClosedRange<Double>]
        /// Whether the field is a count, so that a number is rounded to a whole one.
        package var isWhole: Bool

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

    /// The format of a body.
    package enum BodyFormat: Hashable, Sendable {
        /// Typed metrics; a kind that is missing is not accepted.
        case metrics([SampleKind: Field])
        /// Samples as HealthKit writes them, of every kind.
        case healthKit
    }

    /// What proves that an upload is stored.
    package enum StorageProof: Hashable, Sendable {
        /// The end of its processing, which the backend reports.
        case processing
        /// A status with this word, which the backend reads from the stored upload. No other status
        /// follows.
        case status(String)
        /// The answer to the upload itself. No status tells more.
        case acceptance
    }

    package var call: APICall
    package var statusCall: APICall
    package var format: BodyFormat
    /// The backend's name for the origin of uploaded samples.
    package var source = "apple_health"
    package var samplesPerRequest: Int
    var perType: Int? = nil
    package var requestBytes: Int
    var requestsPerHour: Int? = nil
    package var isIdempotent: Bool
    var takesFuture: Bool
    /// The number with which the backend reports that all of its work is done; `nil` if its
    /// progress is not about the upload.
    package var wholeProgress: Double? = nil
    package var storageProof = StorageProof.processing

    /// The accepted kinds, with the rules for each.
    var kinds: [SampleKind: UploadRules.Kind] {
        switch format {
        case .metrics(let fields):
            fields.mapValues { UploadRules.Kind(metricType: $0.metricType, ranges: $0.ranges) }
        case .healthKit:
            Dictionary(
                uniqueKeysWithValues: SampleKind.allCases.map {
                    ($0, UploadRules.Kind(metricType: HealthKitEncoding(of: $0).type))
                })
        }
    }

    /// Returns the rules of this endpoint, for the code that packs uploads.
    package func rules(_ route: UploadRoute) -> UploadRules {
        UploadRules(
            route: route, samplesPerRequest: samplesPerRequest, perType: perType,
            requestBytes: requestBytes, requestsPerHour: requestsPerHour,
            isIdempotent: isIdempotent, takesFuture: takesFuture, kinds: kinds)
    }
}
