/// What is known of the machine at one instant: what is, not what is wanted.
public struct Conditions: Hashable, Sendable {
    /// One answer with where it comes from; `value` is `nil` while it is unknown.
    public struct Reading<Value: Hashable & Sendable>: Hashable, Sendable {
        public var value: Value?
        /// Where the answer comes from, or why there is none: `/proc/net/route`.
        public var source: String
        /// When the source told it; `nil` where it was asked for these conditions.
        public var at: Instant?
        /// Whether nothing announces a change of it, so that it has to be looked at again.
        public var isSampled: Bool

        /// Creates an answer.
        public init(
            _ value: Value?, source: String, at: Instant? = nil, isSampled: Bool = false
        ) {
            self.value = value
            self.source = source
            self.at = at
            self.isSampled = isSampled
        }

        /// Creates the answer "unknown", with the reason.
        public static func unknown(_ reason: String) -> Reading { Reading(nil, source: reason) }
    }

    /// What the machine's battery says.
    public enum Battery: Hashable, Sendable {
        /// There is none, as in a desktop or a server.
        case absent
        /// The charge in percent, 0 to 100; the sum of all where there are several.
        case charge(percent: Int)
    }

    public var connected: Reading<Bool>
    public var metered: Reading<Bool>
    public var roaming: Reading<Bool>
    public var externalPower: Reading<Bool>
    public var battery: Reading<Battery>
    public var lowPower: Reading<Bool>
    public var idle: Reading<Bool>
    /// The bytes free to this user on the state directory's file system.
    public var storageFreeBytes: Reading<Int64>
    public var pressurePercent: Reading<Int>
    /// The bytes free to this user where the job file names a path, by the path.
    public var storage: [String: Reading<Int64>]
    /// Whether somebody has logged in since a job found nobody; unknown before.
    public var login: Reading<Bool>
    /// Whether the source files that the job file names exist.
    public var source: Reading<Bool>
    /// Whether the job file's checks pass, by their names; nothing of one that was never asked.
    public var checks: [String: Reading<Bool>]

    /// Creates conditions in which everything that is not given is unknown.
    public init(
        connected: Reading<Bool> = .unknown("not probed"),
        metered: Reading<Bool> = .unknown("not probed"),
        roaming: Reading<Bool> = .unknown("not probed"),
        externalPower: Reading<Bool> = .unknown("not probed"),
        battery: Reading<Battery> = .unknown("not probed"),
        lowPower: Reading<Bool> = .unknown("not probed"),
        idle: Reading<Bool> = .unknown("not probed"),
        storageFreeBytes: Reading<Int64> = .unknown("not probed"),
        pressurePercent: Reading<Int> = .unknown("not probed"),
        storage: [String: Reading<Int64>] = [:], checks: [String: Reading<Bool>] = [:],
        login: Reading<Bool> = .unknown("not probed"),
        source: Reading<Bool> = .unknown("not probed")
    ) {
        self.connected = connected
        self.metered = metered
        self.roaming = roaming
        self.externalPower = externalPower
        self.battery = battery
        self.lowPower = lowPower
        self.idle = idle
        self.storageFreeBytes = storageFreeBytes
        self.pressurePercent = pressurePercent
        self.storage = storage
        self.checks = checks
        self.login = login
        self.source = source
    }
}

extension Conditions {
    /// The bytes free where a path is; unknown for one that nobody looked at.
    public subscript(storageAt path: String) -> Reading<Int64> {
        get { storage[path] ?? .unknown("not looked at") }
        set { storage[path] = newValue }
    }

    /// Whether a check passes; unknown for one that was never asked.
    public subscript(check name: String) -> Reading<Bool> {
        get { checks[name] ?? .unknown("not asked") }
        set { checks[name] = newValue }
    }
}
