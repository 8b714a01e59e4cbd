/// The endpoint of the backend to which samples are sent; stored with each batch, opaque elsewhere.
///
/// The raw value is the name in the database and in job files; it never changes.
public enum UploadRoute: String, CaseIterable, Hashable, Sendable {
    /// Typed metrics of health data.
    case metrics
    /// Samples as HealthKit has them.
    case samples
}
