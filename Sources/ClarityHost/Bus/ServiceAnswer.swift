import ClarityScheduler

/// An answer of a service, or the reason why there is none.
enum ServiceAnswer<Value: Sendable>: Sendable {
    /// The current answer. The service announces when it changes.
    case answered(ServiceReading<Value>)
    /// There is no message bus, or the service does not run, and it has not answered before.
    case unavailable(reason: String)
    /// The service runs, but it returns an error, does not know the answer or sends a value that
    /// its documentation does not list.
    case unknown(reason: String)
    /// The service runs and does not answer, or it stopped. `last` is its last answer, however old.
    case silent(reason: String, last: ServiceReading<Value>?)

    /// Returns the answer for a service that is gone: silent if it has answered before, unavailable
    /// if not.
    static func gone(_ reason: String, _ last: ServiceReading<Value>?) -> ServiceAnswer {
        last.map { .silent(reason: reason, last: $0) } ?? .unavailable(reason: reason)
    }
}

/// A value that a service sent, with its source and time.
struct ServiceReading<Value: Sendable>: Sendable {
    var value: Value
    /// The source, for display: `UPower: OnBattery`.
    var source: String
    /// When the service last sent the value, as a signal or as a reply.
    var at: Instant
}

/// A value that cannot be interpreted. The reason is for display.
struct Misunderstood: Error {
    var reason: String
}

extension ServiceAnswer {
    /// The current value; `nil` if there is none or the service is silent.
    var value: Value? {
        if case .answered(let reading) = self { reading.value } else { nil }
    }

    /// Returns the answer with its value converted by `read`. A value that `read` rejects becomes
    /// unknown; a last value that it rejects is dropped.
    func understood<Meaning>(
        _ read: (Value) throws(Misunderstood) -> Meaning
    ) -> ServiceAnswer<Meaning> {
        switch self {
        case .answered(let reading):
            do throws(Misunderstood) {
                return .answered(try reading.understood(read))
            } catch {
                return .unknown(reason: "\(reading.source): \(error.reason)")
            }
        case .unavailable(let reason): return .unavailable(reason: reason)
        case .unknown(let reason): return .unknown(reason: reason)
        case .silent(let reason, let last):
            do throws(Misunderstood) {
                return .silent(reason: reason, last: try last?.understood(read))
            } catch {
                return .silent(reason: reason, last: nil)
            }
        }
    }

    /// Returns the same answer with a more precise source: `UPower` becomes `UPower: OnBattery`.
    func from(_ detail: String) -> ServiceAnswer { changed { $0.source += ": \(detail)" } }

    /// Returns the answer with a change of its reading, current or last.
    fileprivate func changed(_ change: (inout ServiceReading<Value>) -> Void) -> ServiceAnswer {
        switch self {
        case .answered(var reading):
            change(&reading)
            return .answered(reading)
        case .silent(let reason, .some(var last)):
            change(&last)
            return .silent(reason: reason, last: last)
        case .unavailable, .unknown, .silent(_, .none): return self
        }
    }

    /// Combines this answer with another one of the same service. The result has the worse state of
    /// the two and the older time.
    func with<Other>(_ other: ServiceAnswer<Other>) -> ServiceAnswer<(Value, Other)> {
        switch (self, other) {
        case (.answered(let own), .answered(let theirs)): .answered(own.with(theirs))
        case (.unavailable(let reason), _), (_, .unavailable(let reason)):
            .unavailable(reason: reason)
        case (.silent(let reason, let last), _):
            .silent(reason: reason, last: last.flatMap { own in other.last.map(own.with) })
        case (_, .silent(let reason, let last)):
            .silent(reason: reason, last: self.last.flatMap { own in last.map(own.with) })
        case (.unknown(let reason), _), (_, .unknown(let reason)): .unknown(reason: reason)
        }
    }

    /// The last value, current or not.
    private var last: ServiceReading<Value>? {
        switch self {
        case .answered(let reading): reading
        case .silent(_, let last): last
        case .unavailable, .unknown: nil
        }
    }
}

extension ServiceReading {
    fileprivate func understood<Meaning>(
        _ read: (Value) throws(Misunderstood) -> Meaning
    ) throws(Misunderstood) -> ServiceReading<Meaning> {
        ServiceReading<Meaning>(value: try read(value), source: source, at: at)
    }

    fileprivate func with<Other>(_ other: ServiceReading<Other>) -> ServiceReading<(Value, Other)> {
        ServiceReading<(Value, Other)>(
            value: (value, other.value), source: source, at: min(at, other.at))
    }
}

extension ServiceAnswer: Equatable where Value: Equatable {}
extension ServiceReading: Equatable where Value: Equatable {}

extension ServiceAnswer where Value: Equatable {
    /// Returns whether `other` is the same answer, apart from its time.
    func says(as other: ServiceAnswer) -> Bool { timeless == other.timeless }

    private var timeless: ServiceAnswer { changed { $0.at = Instant(millisecondsSince1970: 0) } }
}
