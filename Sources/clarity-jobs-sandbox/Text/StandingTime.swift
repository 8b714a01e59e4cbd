/// A clock that stands until it is set, for tests that live through months.
///
/// It belongs to one thread at a time, as the service does.
final class StandingTime {
    var now: Timestamp

    init(_ now: Timestamp) { self.now = now }
}
