public import HealthModel
public import ClarityScheduler

// The kinds that upload samples to the backend.

extension JobKind {
    public static let bulkUpload = JobKind("bulk-upload")
}

/// The options of the kind `bulk-upload`.
public struct BulkUploadOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .bulkUpload,
        summary: "reads the sources and sends what the backend does not have yet",
        options: declarations, heedsConditions: true,
        addressKey: backendAddress, isSingle: true)

    /// What happens to samples that were possibly sent if a second send could duplicate them.
    public enum OnAmbiguous: String, CaseIterable, Sendable {
        case resend, hold
    }

    /// The number of samples in a request; `nil` means as many as the backend accepts.
    public var batchSize: Int?
    /// The route of new batches; `nil` means the dialect's default.
    public var route: UploadRoute?
    public var onAmbiguous = OnAmbiguous.resend
    /// The bytes that may be sent over a metered connection in 24 h; `nil` means any number.
    public var meteredBudget: Int64?
    /// The maximum number of waiting samples that are sent on battery; 0 means any number.
    public var largeUpload = 500

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(
            "batch_size", .integer(1...1000), &batchSize,
            "samples in one request; without it as many as the backend accepts")
        fields.add(
            "route", &route, otherwise: "auto",
            "endpoint for samples: typed metrics or HealthKit samples; `auto` chooses "
                + "one that accepts the sample's kind")
        fields.add(
            "on_ambiguous", &onAmbiguous,
            "what happens to samples that may already be stored if the backend does not "
                + "deduplicate: send them again and count them, or set them aside for you")
        fields.add(
            "metered_budget", .size((64 << 10)...(1 << 40)), &meteredBudget,
            "maximum to send over a metered connection in 24 h; without it there is no "
                + "limit")
        fields.add(
            "large_upload", .integer(0...1_000_000_000), &largeUpload,
            "an upload of more samples than this waits for external power; 0 never waits")
    }
}
