/// The known state of the machine at one instant.
///
/// Conditions say what is so; a `Constraint` says what a job requires.
public struct Conditions: Hashable, Sendable {
    /// One answer and its source; `value` is `nil` while the answer is unknown.
    public struct Reading<Value: Hashable & Sendable>: Hashable, Sendable {
        public var value: Value?
        /// Where the answer comes from, such as `/proc/net/route`, or why there is none.
        public var source: String
        /// When the source gave the answer; `nil` if it was read for these conditions.
        public var at: Instant?
        /// Whether nothing announces a change of the answer, so that it has to be polled.
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

        /// Creates the answer "unknown", whose changes nothing announces.
        public static func sampledUnknown(_ reason: String) -> Reading {
            Reading(nil, source: reason, isSampled: true)
        }
    }

    /// The state of the machine's battery.
    public enum Battery: Hashable, Sendable {
        /// The machine has no battery, like a desktop or a server.
        case absent
        /// The charge in percent, 0 to 100; that of all batteries together if there are several.
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
    /// The bytes free to this user on each path that the job file names, by path.
    public var storage: [String: Reading<Int64>]
    /// Whether somebody has logged in since a job found nobody logged in; unknown until then.
    public var login: Reading<Bool>
    /// Whether any source file that the job file names exists.
    public var source: Reading<Bool>
    /// The answers that each account has of its own; an account without an entry was not looked at.
    public var accounts: [AccountID: OfAccount]
    /// Whether each check of the job file passes, by name; a check without an entry was never
    /// asked.
    public var checks: [String: Reading<Bool>]

    /// What is known of one account.
    public struct OfAccount: Hashable, Sendable {
        public var login: Reading<Bool>
        public var source: Reading<Bool>

        /// Creates answers; those that are not given are unknown.
        public init(
            login: Reading<Bool> = .unknown("not looked at"),
            source: Reading<Bool> = .unknown("not looked at")
        ) {
            self.login = login
            self.source = source
        }
    }

    /// Creates conditions; everything that is not given is unknown.
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
        source: Reading<Bool> = .unknown("not probed"), accounts: [AccountID: OfAccount] = [:]
    ) {
        self.accounts = accounts
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
    /// Returns the conditions as an account's jobs see them: with its own login and sources.
    func of(_ account: AccountID?) -> Conditions {
        guard let account else { return self }
        var conditions = self
        let own = accounts[account] ?? OfAccount()
        (conditions.login, conditions.source) = (own.login, own.source)
        return conditions
    }

    /// The bytes free on a path's file system; unknown if nobody has looked at the path.
    public subscript(storageAt path: String) -> Reading<Int64> {
        get { storage[path] ?? .unknown("not looked at") }
        set { storage[path] = newValue }
    }

    /// Whether a check passes; unknown if the check was never asked.
    public subscript(check name: String) -> Reading<Bool> {
        get { checks[name] ?? .unknown("not asked") }
        set { checks[name] = newValue }
    }
}

extension Conditions {
    /// Conditions under which every constraint holds.
    public static var allowing: Conditions {
        let source = "no trace"
        return Conditions(
            connected: Reading(true, source: source), metered: Reading(false, source: source),
            roaming: Reading(false, source: source), externalPower: Reading(true, source: source),
            battery: Reading(.absent, source: source), lowPower: Reading(false, source: source),
            idle: Reading(true, source: source),
            storageFreeBytes: Reading(.max, source: source),
            pressurePercent: Reading(0, source: source))
    }
}

extension Conditions {
    /// Returns these conditions without the changes since `earlier` that are too small to note.
    ///
    /// Free storage is rounded down to whole MiB, and counts as changed if it differs by 5 % of
    /// what it was, at least 1 MiB. Pressure counts as changed if it differs by 10 points. Every
    /// other change counts.
    package func inSteps(from earlier: Conditions?) -> Conditions {
        var result = self
        result.storageFreeBytes = storageFreeBytes.inSteps(from: earlier?.storageFreeBytes)
        for (path, free) in storage {
            result.storage[path] = free.inSteps(from: earlier?.storage[path])
        }
        guard let earlier else { return result }
        if let now = pressurePercent.value, let then = earlier.pressurePercent.value,
            (now - then).magnitude < 10
        {
            result.pressurePercent = earlier.pressurePercent
        }
        return result
    }

    /// Returns what the leader has to know of another machine's conditions: values without their
    /// sources, and the times of checks alone. Who is logged in, all machines know.
    package var toPublish: Conditions { from("") }

    /// Returns conditions whose readings all come from `source`.
    package func from(_ source: String) -> Conditions {
        func from<Value>(_ reading: Reading<Value>) -> Reading<Value> {
            Reading(reading.value, source: source, isSampled: reading.isSampled)
        }
        return Conditions(
            connected: from(connected), metered: from(metered), roaming: from(roaming),
            externalPower: from(externalPower), battery: from(battery), lowPower: from(lowPower),
            idle: from(idle), storageFreeBytes: from(storageFreeBytes),
            pressurePercent: from(pressurePercent), storage: storage.mapValues(from),
            checks: checks.mapValues { reading in
                var reading = reading
                reading.source = source
                return reading
            }, login: .unknown(source), source: from(self.source))
    }
}

extension Conditions.Reading<Int64> {
    fileprivate func inSteps(from earlier: Self?) -> Self {
        var result = self
        result.value = value.map { $0 & ~((1 << 20) - 1) }
        if let now = result.value, let earlier, let then = earlier.value,
            (now - then).magnitude < max(1 << 20, then.magnitude / 20)
        {
            return earlier
        }
        return result
    }
}
