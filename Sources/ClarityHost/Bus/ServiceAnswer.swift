import ClarityScheduler

/// What a service says, or why it says nothing.
enum ServiceAnswer<Value: Sendable>: Sendable {
    /// It said so, and announces when that changes.
    case told(Told<Value>)
    /// There is nobody to ask, and there was not before: no message bus, or the service does not run.
    case unavailable(reason: String)
    /// It runs, and does not know or says what its documentation does not have.
    case unknown(reason: String)
    /// It runs and does not answer, or did run; `last` is what it said last, however long ago.
    case silent(reason: String, last: Told<Value>?)

    /// The answer of a service that is not there.
    static func gone(_ reason: String, _ last: Told<Value>?) -> ServiceAnswer {
        last.map { .silent(reason: reason, last: $0) } ?? .unavailable(reason: reason)
    }
}

/// Something that was said, by whom and when.
struct Told<Value: Sendable>: Sendable {
    var value: Value
    /// For people: `UPower: OnBattery`.
    var source: String
    /// When it was last said, by an announcement or as an answer.
    var at: Instant
}

/// A thing said that means nothing; the reason is for people.
struct Misunderstood: Error {
    var reason: String
}

extension ServiceAnswer {
    /// What was said, while it counts.
    var value: Value? {
        if case .told(let told) = self { told.value } else { nil }
    }

    /// Reads what was said; what cannot be read is unknown.
    func understood<Meaning>(
        _ read: (Value) throws(Misunderstood) -> Meaning
    ) -> ServiceAnswer<Meaning> {
        switch self {
        case .told(let told):
            do throws(Misunderstood) {
                return .told(try told.understood(read))
            } catch {
                return .unknown(reason: "\(told.source): \(error.reason)")
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

    /// The same answer with what it comes from said more closely: `UPower` becomes
    /// `UPower: OnBattery`.
    func from(_ detail: String) -> ServiceAnswer {
        switch self {
        case .told(var told):
            told.source += ": \(detail)"
            return .told(told)
        case .silent(let reason, .some(var last)):
            last.source += ": \(detail)"
            return .silent(reason: reason, last: last)
        case .unavailable, .unknown, .silent(_, .none): return self
        }
    }

    /// This and another answer of the same service as one, as good as the worse of both and as old
    /// as the older.
    func with<Other>(_ other: ServiceAnswer<Other>) -> ServiceAnswer<(Value, Other)> {
        switch (self, other) {
        case (.told(let own), .told(let theirs)): .told(own.with(theirs))
        case (.unavailable(let reason), _), (_, .unavailable(let reason)):
            .unavailable(reason: reason)
        case (.silent(let reason, let last), _):
            .silent(reason: reason, last: last.flatMap { own in other.last.map(own.with) })
        case (_, .silent(let reason, let last)):
            .silent(reason: reason, last: self.last.flatMap { own in last.map(own.with) })
        case (.unknown(let reason), _), (_, .unknown(let reason)): .unknown(reason: reason)
        }
    }

    /// What was said last, whether it still counts or not.
    private var last: Told<Value>? {
        switch self {
        case .told(let told): told
        case .silent(_, let last): last
        case .unavailable, .unknown: nil
        }
    }
}

extension Told {
    fileprivate func understood<Meaning>(
        _ read: (Value) throws(Misunderstood) -> Meaning
    ) throws(Misunderstood) -> Told<Meaning> {
        Told<Meaning>(value: try read(value), source: source, at: at)
    }

    fileprivate func with<Other>(_ other: Told<Other>) -> Told<(Value, Other)> {
        Told<(Value, Other)>(value: (value, other.value), source: source, at: min(at, other.at))
    }
}

extension ServiceAnswer: Equatable where Value: Equatable {}
extension Told: Equatable where Value: Equatable {}

extension ServiceAnswer where Value: Equatable {
    /// Whether another answer says the same, at whatever time it was said.
    func says(as other: ServiceAnswer) -> Bool { timeless == other.timeless }

    private var timeless: ServiceAnswer {
        let whenever = Instant(millisecondsSince1970: 0)
        switch self {
        case .told(var told):
            told.at = whenever
            return .told(told)
        case .silent(let reason, .some(var last)):
            last.at = whenever
            return .silent(reason: reason, last: last)
        case .unavailable, .unknown, .silent(_, .none): return self
        }
    }
}
