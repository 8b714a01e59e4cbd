/// What becomes of an occurrence while a run of the same job is not finished.
public enum OverlapPolicy: String, CaseIterable, Sendable {
    /// It is recorded as skipped.
    case skip
    /// One run waits until the other is finished; more than one fold into it.
    case queue
    /// It gets a run, and the other is stopped and cancelled as superseded.
    case replace
}
