import Testing

/// One of the two contracts, as far as a month has to do with it.
struct MonthBackend: CustomTestStringConvertible {
    /// The dialect's name.
    let name: String
    /// Where uploads go.
    let uploadPath: String
    /// All that it answers, as the faults of the sandbox name it.
    let paths: [String]
    /// Whether what was uploaded comes back among the metrics, where somebody may edit it.
    let hasEdits: Bool
    /// Whether an upload whose answer was lost is known when it comes again.
    let knowsRepeats: Bool
    /// Whether the attempt that follows an upload finds it done; else the next by schedule does.
    let isFoundAtOnce: Bool

    var testDescription: String { name }

    /// No request is answered but with 503.
    var storm: [String] { paths.map { "* \($0): 503 x*" } }
    /// What has the sample that it does not bear is refused without a word on why.
    var poison: String { "POST \(uploadPath) ~\(MonthExport.poison.value): 422 x*" }

    /// One upload is taken, and its answer never comes.
    var lostAnswer: String { "POST \(uploadPath): drop x1" }

    static let all = [
        MonthBackend(
            name: "blueprint", uploadPath: "/health-data/upload",
            paths: [
                "/auth/*", "/health-data", "/health-data/*", "/health-data/*/*", "/insights/*/*",
            ], hasEdits: true, knowsRepeats: true, isFoundAtOnce: true),
        MonthBackend(
            name: "loop", uploadPath: "/healthkit",
            paths: [
                "/auth/*", "/health-data", "/health-data/*/*", "/healthkit", "/healthkit/*/*",
                "/insights/*/*",
            ], hasEdits: false, knowsRepeats: false, isFoundAtOnce: false),
    ]
}
