import CLinux
import CSystemd
import ClarityScheduler
import Glibc

/// What the services of a message bus say, kept up to date for as long as there is a bus.
///
/// Nothing here waits. Whoever drives it calls `step` when `descriptor` can be read, which an
/// `EventThread` tells as well as poll(2). One thread at a time.
final class SystemBus {
    /// How long after the last try to connect the next may be made.
    static let pause = Duration.seconds(5)
    /// The most messages of one step, so that a service that never stops talking stops nobody.
    private static let mostMessages = 1000

    /// Can be read when there is something to do; -1 where the process has no descriptor left.
    let descriptor: Int32
    private let timer: Int32
    private let address: String?
    private var connection: BusConnection?
    private var lastTry: Duration?
    private var services: [BusService]

    /// Prepares to listen; nothing is connected before `connectIfDue`.
    ///
    /// - Parameter address: Where the bus is (D-Bus specification, "Server Addresses"); `nil` is the
    ///   system's, which is `DBUS_SYSTEM_BUS_ADDRESS` or the usual socket.
    init(_ interests: [BusSubscription], address: String?) {
        self.address = address
        services = interests.map { BusService($0) }
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

    /// What is known of a service.
    func service(_ interest: BusSubscription) -> BusService {
        services.first { $0.interest.service == interest.service } ?? BusService(interest)
    }

    /// Whether nothing that was asked may still be answered in time.
    var isSettled: Bool { services.allSatisfy(\.isSettled) }

    /// Connects where there is no connection and none was tried for within `pause`, and asks again
    /// what was said too long ago.
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

    /// Takes all that has come, and does what is due.
    func step(at moment: Moment) {
        // It stays readable otherwise; its count does not matter.
        var count: UInt64 = 0
        _ = read(timer, &count, MemoryLayout<UInt64>.size)
        guard let connection else { return }
        let progress = connection.process(atMost: SystemBus.mostMessages)
        perform(with: connection) { () throws(BusConnection.Fault) in
            for event in connection.takeEvents() {
                for index in services.indices {
                    try ask(services[index].heard(event, at: moment), with: connection)
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
                try connection.listen(for: services[index].interest)
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

    /// Does what may end the connection, unless that has ended.
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
