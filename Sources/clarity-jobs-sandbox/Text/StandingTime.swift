/// A clock that stands still until it is set, for tests that span months.
///
/// Like the service, it belongs to one thread at a time.
final class StandingTime {
    var now: Timestamp

    init(_ now: Timestamp) { self.now = now }
}
