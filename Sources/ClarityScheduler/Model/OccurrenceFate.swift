/// What becomes of occurrences that get no run of their own.
public enum OccurrenceFate: String, CaseIterable, Sendable {
    /// A later run, or one that already waits, stands for them.
    case coalesced
    /// A policy passed over them: `overlap: skip` or `catch_up`.
    case skipped
    /// Nobody saw them before their start deadline or the window of `catch_up` was over.
    case expired
    /// The job was paused.
    case paused
}
