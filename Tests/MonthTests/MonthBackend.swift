import Testing

/// One of the two contracts, as far as it matters in a month.
struct MonthBackend: CustomTestStringConvertible {
    /// The name of the dialect.
    let name: String
    /// The path to which uploads go.
    let uploadPath: String
    /// All paths that the backend answers, as the faults of the sandbox name them.
    let paths: [String]
    /// Whether an uploaded sample comes back among the metrics, where a person may edit it.
    let hasEdits: Bool
    /// Whether the backend deduplicates an upload that is repeated because its answer was lost.
    let knowsRepeats: Bool
    /// Whether the backend says when it has processed an upload. Otherwise its first answer is the
    /// last one.
    let tellsEnd: Bool

    var testDescription: String { name }

    /// Answers every request with 503.
    var storm: [String] { paths.map { "* \($0): 503 x*" } }
    /// Refuses every upload with the poisonous sample, without a reason.
    var poison: String { "POST \(uploadPath) ~\(MonthExport.poison.value): 422 x*" }

    /// Accepts one upload and never answers it.
    var lostAnswer: String { "POST \(uploadPath): drop x1" }

    static let all = [
        MonthBackend(
            name: "blueprint", uploadPath: "/health-data/upload",
            paths: [
                "/auth/*", "/health-data", "/health-data/*", "/health-data/*/*", "/insights/*/*",
            ], hasEdits: true, knowsRepeats: true, tellsEnd: true),
        MonthBackend(
            name: "loop", uploadPath: "/healthkit",
            paths: [
                "/auth/*", "/health-data", "/health-data/*/*", "/healthkit", "/healthkit/*/*",
                "/insights/*/*",
            ], hasEdits: false, knowsRepeats: false, tellsEnd: false),
    ]
}
