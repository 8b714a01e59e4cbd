/// By which of the backend's doors samples go in; kept with a batch, opaque elsewhere.
///
/// The raw value is the name in the store and in job files; it never changes.
public enum UploadRoute: String, CaseIterable, Hashable, Sendable {
    /// Typed metrics of health data.
    case metrics
    /// Samples as HealthKit has them.
    case samples
}
