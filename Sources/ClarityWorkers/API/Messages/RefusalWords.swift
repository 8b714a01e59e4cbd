/// What a backend said as it refused an upload, without what could be a value.
///
/// For the samples that it is about and nowhere else: nobody knows what words hold, so that it
/// describes itself without them.
struct RefusalWords: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Of each metric that the backend named, by its place in the batch.
    private(set) var named: [Int: String] = [:]
    /// Of the upload as a whole.
    private(set) var whole: String?
    /// Whether the backend gave a code of its own, and so knew what it refused.
    private(set) var hasCode = false

    /// Reads a refusal; a metric may break several rules, and the first that the backend put in
    /// words stands for it.
    init(_ report: FaultReport) {
        for fault in report.faults where !fault.isDuplicate && named[fault.index] == nil {
            named[fault.index] = fault.words
        }
        whole = report.words
        hasCode = report.code != nil
    }

    var description: String { "words about \(named.count) metrics" }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
