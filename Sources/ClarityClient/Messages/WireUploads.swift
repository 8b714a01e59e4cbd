// Answers about uploads and health data as they are on the wire, for every dialect.

/// The answer to an upload of metrics.
struct UploadWire: Decodable {
    let processingID: String
    let accepted: Int
    let rejected: Int?
    let validationErrors: [FaultReport.Item]?

    private enum CodingKeys: String, CodingKey {
        case processingID = "processing_id"
        case accepted = "accepted_metrics"
        case rejected = "rejected_metrics"
        case validationErrors = "validation_errors"
    }
}

/// The answer to an upload of samples.
struct SamplesUploadWire: Decodable {
    let uploadID: String
    /// The number of samples received in each list.
    let received: [String: Int]

    private enum CodingKeys: String, CodingKey {
        case uploadID = "upload_id"
        case received = "samples_received"
    }
}

/// The answer to a request for the status of an upload.
struct ProcessingWire: Decodable {
    let status: String
    /// The progress, as a part of the endpoint's `wholeProgress`.
    let progress: Double?

    private enum CodingKeys: String, CodingKey {
        case status
        case progress
    }
}

/// A page of health data without its rows.
struct HealthDataPageWire: Decodable {
    struct Pagination: Decodable {
        let hasNext: Bool
        let nextCursor: String?

        private enum CodingKeys: String, CodingKey {
            case hasNext = "has_next"
            case nextCursor = "next_cursor"
        }
    }

    let pagination: Pagination

    private enum CodingKeys: String, CodingKey {
        case pagination
    }
}

/// A row of health data: a measurement, a whole metric as it was uploaded, or a whole upload.
struct HealthDataRowWire: Decodable {
    /// The type of an upload that has several types; the backend has no such type.
    static let upload = "upload"

    let id: String
    let type: String
    let timestamp: String

    private enum CodingKeys: String, CodingKey {
        case id
        case metricID = "metric_id"
        case type
        case metricType = "metric_type"
        case metrics
        case timestamp
        case createdAt = "created_at"
    }

    /// Any key of an object.
    private struct AnyKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        func either(_ name: CodingKeys, _ other: CodingKeys) throws -> String {
            try fields.decodeIfPresent(String.self, forKey: name)
                ?? fields.decode(String.self, forKey: other)
        }
        id = try either(.id, .metricID)
        if fields.contains(.metrics) {
            let types = try fields.nestedContainer(keyedBy: AnyKey.self, forKey: .metrics).allKeys
            type = types.count == 1 ? types[0].stringValue : HealthDataRowWire.upload
        } else {
            type = try either(.type, .metricType)
        }
        timestamp = try either(.timestamp, .createdAt)
    }
}
