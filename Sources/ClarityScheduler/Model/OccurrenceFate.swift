/// What happens to an occurrence that gets no run of its own.
public enum OccurrenceFate: String, CaseIterable, Sendable {
    /// A later run, or one that already waits, stands for it.
    case coalesced
    /// A policy passed over it: `overlap: skip` or `catch_up`.
    case skipped
    /// No scheduler looked before `start_within`, or `within` of `catch_up`, was over.
    case expired
    /// The job was paused, and has `catch_up: none`.
    case paused
}
