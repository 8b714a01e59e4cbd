/// What becomes of occurrences that passed while nobody could run them.
public enum CatchUpPolicy: String, CaseIterable, Sendable {
    /// One run stands for all of them, as the latest.
    case latest
    /// They are recorded as skipped.
    case none
}
