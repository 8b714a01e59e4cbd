/// The backend's words about an upload that it refused, without what could be a value.
///
/// They are for the samples that they are about and for nothing else. Nobody knows what words
/// contain, so descriptions and dumps leave them out.
package struct RefusalWords: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The words about each metric that the backend named, by its index in the batch.
    package private(set) var named: [Int: String] = [:]
    /// The words about the upload as a whole.
    package private(set) var whole: String?
    /// Whether the backend gave a code of its own, and so knew what it refused.
    package private(set) var hasCode = false

    /// Reads a refusal. A metric may break several rules; the first one that the backend put in
    /// words counts.
    init(_ report: FaultReport) {
        for fault in report.faults where !fault.isDuplicate && named[fault.index] == nil {
            named[fault.index] = fault.words
        }
        whole = report.words
        hasCode = report.code != nil
    }

    package var description: String { "words about \(named.count) metrics" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
