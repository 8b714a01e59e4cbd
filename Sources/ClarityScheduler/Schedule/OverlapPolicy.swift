/// What happens to an occurrence while a run of the same job is not finished.
///
/// With `skip` and `queue`, a waiting run stands for later occurrences, unless `catch_up` gives
/// each its own run.
public enum OverlapPolicy: String, CaseIterable, Sendable {
    /// The occurrence is recorded as skipped while the run is running.
    case skip
    /// One run waits until the other has finished.
    case queue
    /// The occurrence gets a run; the other run is stopped and cancelled as superseded.
    case replace
}
