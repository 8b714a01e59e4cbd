/// One reason for which an enqueued run did not start, with what was wanted and measured.
public struct Deferral: Hashable, Sendable {
    public var reason: WaitReason
    /// The constraint's name in the job file, or the reason's where it is none.
    public var subject: String
    public var wanted: String
    public var measured: String
    public var source: String

    /// Creates a deferral.
    public init(
        _ reason: WaitReason, subject: String, wanted: String, measured: String, source: String
    ) {
        self.reason = reason
        self.subject = subject
        self.wanted = wanted
        self.measured = measured
        self.source = source
    }
}
