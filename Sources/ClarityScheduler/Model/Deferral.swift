/// One reason why an enqueued run did not start, with the required and the measured value.
public struct Deferral: Hashable, Sendable {
    public var reason: WaitReason
    /// The name of the constraint in the job file, or a name for any other reason.
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

/// A deferral of a run and the time during which it held.
public struct DeferralSpan: Hashable, Sendable {
    public var deferral: Deferral
    public var run: RunID
    public var since: Instant
    /// The end, or `nil` while the deferral holds.
    public var until: Instant?

    /// Creates a span.
    public init(_ deferral: Deferral, of run: RunID, since: Instant, until: Instant? = nil) {
        self.deferral = deferral
        self.run = run
        self.since = since
        self.until = until
    }
}
