import ClarityScheduler
import Glibc
import Synchronization

/// Asks the services of this machine over the system bus, and announces when their answers change.
///
/// The first call of `answers` connects, and waits for a moment. Nothing else waits, whatever the
/// bus and the services do. Asking a service never starts it.
final class SystemServices: Sendable {
    private struct State {
        let bus: SystemBus
        var answers: ServiceAnswers
        var isAsked = false
        /// Whether the first call of `answers` is waiting. Meanwhile only that call handles
        /// messages, because a message that another thread handles would not wake it.
        var isSettling = false
        /// Rings when an answer changes; `nil` until somebody listens.
        var bell: Bell?

        init(_ bus: SystemBus) {
            self.bus = bus
            answers = ServiceAnswers(bus.service)
        }
    }

    private let clock: any WallClock
    private let firstLook: Duration
    private let state: Mutex<State>

    /// Prepares to ask. The first call of `answers` loads libsystemd and connects.
    ///
    /// - Parameters:
    ///   - clock: Dates the answers, and measures how long they take.
    ///   - address: The address of a bus to use instead of the system bus (D-Bus specification,
    ///     "Server Addresses").
    ///   - firstLook: The longest wait of the first call of `answers`.
    init(
        clock: any WallClock, address: String? = nil, firstLook: Duration = .milliseconds(250)
    ) {
        self.clock = clock
        self.firstLook = firstLook
        state = Mutex(State(SystemBus(ServiceAnswers.subscriptions, address: address)))
    }

    /// Returns the current answers.
    ///
    /// The first call waits until all services have answered or are known not to run, at most 250
    /// ms. Later calls return at once. They ask again what was last asked a minute ago or earlier,
    /// and a different answer is announced as a change. Without a bus they try to connect again, at
    /// most every 5 seconds.
    func answers() -> ServiceAnswers {
        let isFirst = state.withLock { state in
            defer { state.isAsked = true }
            guard !state.isSettling else { return false }
            state.bus.refresh(at: clock.moment)
            look(&state)
            state.isSettling = !state.isAsked
            return state.isSettling
        }
        if isFirst { settle(within: firstLook) }
        return state.withLock { $0.answers }
    }

    /// Opens the sources that have an element whenever an answer changes in more than its time;
    /// none if the process is out of descriptors.
    ///
    /// They are silent before the first call of `answers`.
    func sources() -> [EventSource<Void>] {
        let (bus, bell) = state.withLock { state in
            let bell = state.bell ?? Bell()
            state.bell = bell
            // A duplicate, because a stream closes its descriptors.
            return (fcntl(state.bus.descriptor, F_DUPFD_CLOEXEC, 0), bell.source())
        }
        guard bus >= 0, let bell else {
            [bus, bell?.descriptor ?? -1].filter { $0 >= 0 }.forEach { close($0) }
            return []
        }
        return [
            // `look` rings the bell if an answer has changed, so this source never has an element.
            EventSource(descriptor: bus) { [self] in
                state.withLock { if !$0.isSettling { look(&$0) } }
                return nil
            },
            bell,
        ]
    }

    /// Handles the messages that have arrived, and rings the bell if an answer has changed.
    private func look(_ state: inout State) {
        state.bus.step(at: clock.moment)
        let answers = ServiceAnswers(state.bus.service)
        let isNews = !answers.say(as: state.answers)
        state.answers = answers
        if isNews { state.bell?.ring() }
    }

    /// Waits until every request is answered or overdue, at most for `span`. Releases the lock
    /// while it waits.
    private func settle(within span: Duration) {
        let end = ContinuousClock.now + span
        while true {
            let left = end - .now
            let (isSettling, descriptor) = state.withLock { state in
                look(&state)
                state.isSettling = !state.bus.isSettled && left > .zero
                return (state.isSettling, state.bus.descriptor)
            }
            guard isSettling else { return }
            var bus = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
            poll(&bus, 1, Int32(clamping: left.milliseconds + 1))
        }
    }
}

/// The answers of this machine's services, each with the values of its service.
struct ServiceAnswers: Sendable {
    /// From NetworkManager.
    var connectivity: ServiceAnswer<NetworkManager.Connectivity>
    /// From NetworkManager.
    var metered: ServiceAnswer<NetworkManager.Metered>
    /// From NetworkManager: `802-11-wireless`; empty without a connection.
    var primaryConnectionType: ServiceAnswer<String>
    /// From ModemManager; from NetworkManager if the default route uses Ethernet or Wi-Fi.
    var roaming: ServiceAnswer<Bool>
    /// From UPower: whether only a battery or a UPS powers the machine.
    var onBattery: ServiceAnswer<Bool>
    /// From UPower.
    var battery: ServiceAnswer<Conditions.Battery>
    /// From power-profiles-daemon.
    var lowPower: ServiceAnswer<Bool>
    /// From logind.
    var people: ServiceAnswer<LoginSessions.Presence>

    /// Whether there is a connection to the bus, which announces services that start and stop.
    var isBusReached: Bool

    /// The subscriptions to all services.
    static let subscriptions = [
        NetworkManager.subscription, ModemManager.subscription, UPower.subscription,
        PowerProfiles.subscription,
        PowerProfiles.formerSubscription, LoginSessions.subscription,
    ]

    /// Creates the answers from the state of each service.
    init(_ known: (BusSubscription) -> BusService) {
        let network = NetworkManager(service: known(NetworkManager.subscription))
        let modems = ModemManager(service: known(ModemManager.subscription))
        let power = UPower(service: known(UPower.subscription))
        let profiles = PowerProfiles(
            service: known(PowerProfiles.subscription),
            former: known(PowerProfiles.formerSubscription))
        connectivity = network.connectivity
        metered = network.metered
        primaryConnectionType = network.primaryConnectionType
        roaming = .roaming(modems.isRoaming, over: network.primaryConnectionType)
        onBattery = power.isOnBattery
        battery = power.battery
        lowPower = profiles.isLowPower
        people = LoginSessions(service: known(LoginSessions.subscription)).presence
        isBusReached = known(LoginSessions.subscription).isReached
    }

    /// Returns whether the answers of `others` are the same, apart from their times.
    func say(as others: ServiceAnswers) -> Bool {
        connectivity.says(as: others.connectivity)
            && metered.says(as: others.metered)
            && primaryConnectionType.says(as: others.primaryConnectionType)
            && roaming.says(as: others.roaming)
            && onBattery.says(as: others.onBattery)
            && battery.says(as: others.battery)
            && lowPower.says(as: others.lowPower)
            && people.says(as: others.people)
    }
}
