import Glibc

extension MockBus {
    // MARK: User actions

    /// Sets a property of a service, which announces the change.
    public func set(
        _ name: Service, _ property: String, _ value: Value, path: String? = nil,
        interface: String? = nil
    ) async throws {
        try await tell(
            """
            set('\(name.rawValue)', '\(path ?? name.path)', '\(interface ?? name.interface)', \
            '\(property)', \(value.python))
            """)
    }

    /// Plugs in the cable, or joins a network of kind `802-3-ethernet`, `802-11-wireless` or `gsm`.
    public func connect(over kind: String, metered: Int = 4) async throws {
        try await set(.networkManager, "PrimaryConnectionType", .string(kind))
        try await set(.networkManager, "Metered", .uint32(metered))
        try await set(.networkManager, "Connectivity", .uint32(4))
    }

    /// Pulls the cable.
    public func disconnect() async throws {
        try await set(.networkManager, "PrimaryConnectionType", .string(""))
        try await set(.networkManager, "Metered", .uint32(0))
        try await set(.networkManager, "Connectivity", .uint32(1))
    }

    /// Inserts a battery, or sets its charge.
    public func setBattery(
        percent: Double, type: Int = 2, isPresent: Bool = true
    ) async throws {
        try await tell(
            """
            mock('\(Service.upower.rawValue)', '\(Service.upower.path)', 'SetupDisplayDevice', \
            'uuddddxxbsu', \(type), 2, \(percent), 50.0, 100.0, 1.0, 60, 0, \
            \(isPresent ? "True" : "False"), '', 1)
            """)
    }

    /// Pulls the power cord, or plugs it in.
    public func setOnBattery(_ isOnBattery: Bool) async throws {
        try await set(.upower, "OnBattery", .bool(isOnBattery))
    }

    /// Plugs in a modem, without a 3GPP interface if `registration` is `nil`.
    public func addModem(_ number: Int, state: Int, registration: Int?) async throws {
        let path = "\(Service.modemManager.path)/Modem/\(number)"
        let network =
            registration.map { "'RegistrationState': \(Value.uint32($0).python)" } ?? ""
        let service = Service.modemManager.rawValue
        try await tell(
            """
            mock('\(service)', '\(Service.modemManager.path)', 'AddObject', 'ssa{sv}a(ssss)', \
            '\(path)', '\(service).Modem', {'State': \(Value.int32(state).python)}, []); \
            mock('\(service)', '\(path)', 'AddProperties', 'sa{sv}', \
            '\(service).Modem.Modem3gpp', dbus.Dictionary({\(network)}, signature='sv')) \
            if \(registration == nil ? "False" : "True") else None; \
            emit('\(service)', '\(Service.modemManager.path)', \
            'org.freedesktop.DBus.ObjectManager', 'InterfacesAdded', 'oa{sa{sv}}', \
            dbus.ObjectPath('\(path)'), dbus.Dictionary({}, signature='sa{sv}'))
            """)
    }

    /// Registers a modem with a network: 1 is its own network, 5 is roaming.
    public func setRegistration(_ number: Int, _ registration: Int) async throws {
        try await set(
            .modemManager, "RegistrationState", .uint32(registration),
            path: "\(Service.modemManager.path)/Modem/\(number)",
            interface: "\(Service.modemManager.rawValue).Modem.Modem3gpp")
    }

    /// Pulls a modem out.
    public func removeModem(_ number: Int) async throws {
        let path = "\(Service.modemManager.path)/Modem/\(number)"
        let service = Service.modemManager.rawValue
        try await tell(
            """
            mock('\(service)', '\(Service.modemManager.path)', 'RemoveObject', 's', '\(path)'); \
            emit('\(service)', '\(Service.modemManager.path)', \
            'org.freedesktop.DBus.ObjectManager', 'InterfacesRemoved', 'oas', \
            dbus.ObjectPath('\(path)'), ['\(service).Modem'])
            """)
    }

    /// Logs a user in, or a greeter (`class: "greeter"`).
    public func addSession(_ id: String, class kind: String = "user") async throws {
        let path = "\(Service.logind.path)/session/\(id)"
        let service = Service.logind.rawValue
        try await tell(
            """
            mock('\(service)', '\(Service.logind.path)', 'AddSession', 'ssusb', \
            '\(id)', 'seat0', 1000, 'somebody', True); \
            set('\(service)', '\(path)', '\(service).Session', 'Class', '\(kind)'); \
            emit('\(service)', '\(Service.logind.path)', '\(service).Manager', 'SessionNew', 'so', \
            '\(id)', dbus.ObjectPath('\(path)'))
            """)
    }

    /// Logs a user out.
    public func removeSession(_ id: String) async throws {
        let path = "\(Service.logind.path)/session/\(id)"
        let service = Service.logind.rawValue
        try await tell(
            """
            mock('\(service)', '\(Service.logind.path)', 'RemoveObject', 's', '\(path)'); \
            emit('\(service)', '\(Service.logind.path)', '\(service).Manager', \
            'SessionRemoved', 'so', '\(id)', dbus.ObjectPath('\(path)'))
            """)
    }

    // MARK: Misbehaviour

    /// Makes a service announce the change of a property without a value, or in an invalid form.
    public func emitChange(
        _ name: Service, isInvalidation: Bool, of property: String
    ) async throws {
        let arguments =
            isInvalidation
            ? "'sa{sv}as', '\(name.interface)', dbus.Dictionary({}, signature='sv'), ['\(property)']"
            : "'si', '\(name.interface)', 7"
        try await tell(
            """
            emit('\(name.rawValue)', '\(name.path)', 'org.freedesktop.DBus.Properties', \
            'PropertiesChanged', \(arguments))
            """)
    }

    /// Makes a connection that is no service announce, to everybody and to this process alone, that
    /// a property of a service has changed and that the service has gone.
    public func spoof(_ name: Service, _ property: String, _ value: Value) async throws {
        try await tell(
            """
            spoof(\(getpid()), '\(name.rawValue)', '\(name.path)', '\(name.interface)', \
            '\(property)', \(value.python))
            """)
    }
}
