import CLinux
import CSystemd
import ClarityScheduler
import Glibc

/// The state of several services of a message bus, kept up to date while there is a connection.
///
/// A service's `BusSubscription` says what to ask and which signals to expect; the bus itself knows
/// no particular service. Nothing here blocks. The owner calls `step` when `descriptor` becomes
/// readable, which it learns from an `EventThread` or from poll(2). Use it from one thread at a
/// time.
final class SystemBus {
    /// The shortest time between two attempts to connect.
    static let pause = Duration.seconds(5)
    /// The most messages that one step handles, so that a service that sends without end cannot
    /// block the caller.
    private static let mostMessages = 1000

    /// Readable when there is work to do; -1 if the process is out of descriptors.
    let descriptor: Int32
    private let timer: Int32
    private let address: String?
    private var connection: BusConnection?
    private var lastTry: Duration?
    private var services: [BusService]

    /// Prepares the services in `subscriptions`. The first `refresh` connects.
    ///
    /// - Parameter address: The bus's address (D-Bus specification, "Server Addresses"). `nil`
    ///   means the system bus, at `DBUS_SYSTEM_BUS_ADDRESS` or the usual socket.
    init(_ subscriptions: [BusSubscription], address: String?) {
        self.address = address
        services = subscriptions.map { BusService($0) }
        let poll = clinux_poll()
        let timer = poll < 0 ? -1 : csystemd_timer(poll)
        if timer < 0, poll >= 0 { close(poll) }
        self.timer = timer
        descriptor = timer < 0 ? -1 : poll
    }

    deinit {
        connection = nil
        if descriptor >= 0 {
            close(timer)
            close(descriptor)
        }
    }

    /// Returns the state of a service.
    func service(_ subscription: BusSubscription) -> BusService {
        services.first { $0.subscription.service == subscription.service }
            ?? BusService(subscription)
    }

    /// Whether every pending request is overdue, or there is none.
    var isSettled: Bool { services.allSatisfy(\.isSettled) }

    /// Connects if there is no connection and the last attempt is at least `pause` ago. With a
    /// connection, requests again the answers that are too old.
    func refresh(at moment: Moment) {
        guard let connection else {
            if let lastTry, moment.elapsed - lastTry < SystemBus.pause { return }
            lastTry = moment.elapsed
            return connect(at: moment)
        }
        perform(with: connection) { () throws(BusConnection.Fault) in
            for index in services.indices {
                try ask(services[index].refreshed(at: moment), with: connection)
            }
            try watch(connection, at: moment)
        }
    }

    /// Handles the messages that have arrived, at most `mostMessages`, and what is due.
    func step(at moment: Moment) {
        // An expired timer stays readable until it is read. The count does not matter.
        var count: UInt64 = 0
        _ = read(timer, &count, MemoryLayout<UInt64>.size)
        guard let connection else { return }
        let progress = connection.process(atMost: SystemBus.mostMessages)
        perform(with: connection) { () throws(BusConnection.Fault) in
            for event in connection.takeEvents() {
                for index in services.indices {
                    try ask(services[index].receive(event, at: moment), with: connection)
                }
            }
            for index in services.indices { services[index].expired(at: moment) }
        }
        switch progress {
        case .ended(let reason): end(reason: reason)
        case .idle:
            perform(with: connection) { () throws(BusConnection.Fault) in
                try watch(connection, at: moment)
            }
        case .unfinished:
            perform(with: connection) { () throws(BusConnection.Fault) in
                try connection.watch(with: descriptor, timer: timer, within: .zero)
            }
        }
    }

    private func connect(at moment: Moment) {
        guard descriptor >= 0 else { return end(reason: "no descriptor is left") }
        do throws(BusConnection.Fault) {
            let connection = try BusConnection(address: address)
            self.connection = connection
            for index in services.indices {
                try connection.listen(for: services[index].subscription)
                try ask(services[index].connected(at: moment), with: connection)
            }
            try watch(connection, at: moment)
        } catch {
            end(reason: error.reason)
        }
    }

    private func ask(
        _ requests: [BusRequest], with connection: BusConnection
    ) throws(BusConnection.Fault) {
        for request in requests { try connection.ask(request) }
    }

    private func watch(
        _ connection: BusConnection, at moment: Moment
    ) throws(BusConnection.Fault) {
        let deadline = services.compactMap(\.nextDeadline).min()
        try connection.watch(
            with: descriptor, timer: timer, within: deadline.map { $0 - moment.elapsed })
    }

    /// Runs `work` if `connection` is still the current one, and disconnects if `work` throws.
    private func perform(
        with connection: BusConnection, _ work: () throws(BusConnection.Fault) -> Void
    ) {
        guard connection === self.connection else { return }
        do throws(BusConnection.Fault) {
            try work()
        } catch {
            end(reason: error.reason)
        }
    }

    private func end(reason: String) {
        connection?.ignore(with: descriptor)
        connection = nil
        for index in services.indices {
            services[index].disconnected(reason: "no system bus: \(reason)")
        }
    }
}

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
