import CSystemd
import Platform
import Glibc

/// A connection to a message bus that never blocks and never makes the bus start a service.
///
/// `process` decodes incoming messages into events and keeps them until `takeEvents`. Use it from
/// one thread at a time.
final class BusConnection {
    /// Why there is no connection, as text for the user.
    struct Fault: Error {
        var reason: String

        fileprivate init(reason: String) { self.reason = reason }

        /// Creates a fault from the negative errno that sd-bus returned.
        fileprivate init(_ result: Int32) { reason = SystemError(code: -result).text }
    }

    /// How far `process` got.
    enum Progress {
        case idle
        case unfinished
        case ended(reason: String)
    }

    /// How long sd-bus waits for a reply. This is longer than `BusService.patience`, because a late
    /// reply is still used.
    private static let longestWaitMicroseconds: UInt64 = 60_000_000

    /// `nil` until `init` succeeds.
    private var bus: OpaquePointer?
    private var pending: [UInt64: BusRequest] = [:]
    private var subscriptions: [String: BusSubscription] = [:]
    private var events: [BusEvent] = []

    /// Starts to connect to the bus at `address`, or to the system bus if `address` is `nil`.
    init(address: String?) throws(Fault) {
        if let fault = csystemd_fault() { throw Fault(reason: String(cString: fault)) }
        // Only `process` calls the handlers, so `self` is alive when they run.
        let context = Unmanaged.passUnretained(self).toOpaque()
        let result = csystemd_open(
            address,
            { message, context in
                if let message { BusConnection.of(context)?.answered(BusMessage(message)) }
            },
            { message, context in
                if let message { BusConnection.of(context)?.receive(BusMessage(message)) }
            }, context, &bus)
        guard result >= 0 else { throw Fault(result) }
    }

    deinit { if let bus { csystemd_close(bus) } }

    private static func of(_ context: UnsafeMutableRawPointer?) -> BusConnection? {
        context.map { Unmanaged<BusConnection>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: Requests

    /// Subscribes to the signals that `subscription` needs. Call this before the first request to
    /// that service.
    func listen(for subscription: BusSubscription) throws(Fault) {
        subscriptions[subscription.service] = subscription
        for rule in subscription.matches {
            let result = csystemd_match(bus, rule)
            guard result >= 0 else { throw Fault(result) }
        }
    }

    /// Sends a request. Its reply becomes an event.
    func ask(_ request: BusRequest) throws(Fault) {
        let bus = "org.freedesktop.DBus"
        switch request.question {
        case .owner:
            try call(
                request, BusObject(path: "/org/freedesktop/DBus", interface: bus), "GetNameOwner",
                request.service)
        case .properties(let object):
            let properties = BusObject(path: object.path, interface: "\(bus).Properties")
            try call(request, properties, "GetAll", object.interface)
        case .list:
            guard let list = subscriptions[request.service]?.list else { return }
            let object = BusObject(path: list.path, interface: list.interface)
            try call(request, object, list.member, nil)
        }
    }

    private func call(
        _ request: BusRequest, _ object: BusObject, _ member: String, _ argument: String?
    ) throws(Fault) {
        var cookie: UInt64 = 0
        let result = csystemd_call(
            bus, request.destination, object.path, object.interface, member, argument,
            BusConnection.longestWaitMicroseconds, &cookie)
        guard result >= 0 else { throw Fault(result) }
        pending[cookie] = request
    }

    // MARK: Events

    /// Performs at most `limit` steps of pending work. Each step handles at most one message.
    func process(atMost limit: Int) -> Progress {
        for _ in 0..<limit {
            let result = csystemd_process(bus)
            if result < 0 { return .ended(reason: Fault(result).reason) }
            guard csystemd_is_open(bus) > 0 else { return .ended(reason: "it hung up") }
            if result == 0 { return .idle }
        }
        return .unfinished
    }

    /// Returns the events since the last call, in order of arrival.
    func takeEvents() -> [BusEvent] {
        defer { events = [] }
        return events
    }

    /// Makes `poll` watch the connection, and sets `timer` to expire at sd-bus's next timeout or
    /// after `span`, whichever is earlier. Without `span`, only sd-bus's timeout counts.
    func watch(with poll: Int32, timer: Int32, within span: Duration?) throws(Fault) {
        var microseconds = UInt64.max
        if let span {
            let (seconds, attoseconds) = max(span, .zero).components
            microseconds =
                UInt64(min(seconds, 1_000_000)) * 1_000_000
                + UInt64(attoseconds / 1_000_000_000_000) + 1
        }
        let result = csystemd_watch(bus, poll, timer, microseconds)
        guard result >= 0 else { throw Fault(result) }
    }

    /// Makes `poll` stop watching the connection.
    func ignore(with poll: Int32) { csystemd_ignore(bus, poll) }

    private func answered(_ message: BusMessage) {
        guard let cookie = message.replyCookie, let request = pending.removeValue(forKey: cookie)
        else { return }
        events.append(.reply(to: request, reply(message, to: request)))
    }

    private func reply(_ message: BusMessage, to request: BusRequest) -> BusReply {
        switch message.errorName {
        case nil: break
        // The bus sends this when the service leaves it before it replies; sd-bus generates it when
        // the call times out.
        case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Timeout",
            "org.freedesktop.DBus.Error.TimedOut":
            return .none
        case .some(let name): return .refused(name)
        }
        guard let subscription = subscriptions[request.service] else { return .garbled }
        switch request.question {
        case .owner: return message.readText().map { .owner($0) } ?? .garbled
        case .properties(let object):
            let wanted =
                subscription.objects[object] ?? subscription.list?.wanted[object.interface] ?? []
            return message.readProperties(wanted).map { .properties($0) } ?? .garbled
        case .list:
            guard let list = subscription.list else { return .garbled }
            switch list.layout {
            case .tree: return message.readTree(list.wanted).map { .tree($0) } ?? .garbled
            case .paths(let leading):
                return message.readPaths(after: leading).map { .paths($0) } ?? .garbled
            }
        }
    }

    private func receive(_ message: BusMessage) {
        let sender = message.sender
        let object = BusObject(path: message.path, interface: message.interface)
        switch (sender, object.interface, message.member) {
        case ("org.freedesktop.DBus", "org.freedesktop.DBus", "NameOwnerChanged"):
            guard let service = message.readText(), message.readText() != nil,
                let owner = message.readText()
            else { return }
            events.append(.owner(service: service, owner.isEmpty ? nil : owner))
        case (_, "org.freedesktop.DBus.Properties", "PropertiesChanged"):
            guard let interface = message.readText() else { return }
            changed(BusObject(path: object.path, interface: interface), sender, message)
        case (_, _, let member):
            events.append(.signal(sender: sender, object, member: member))
        }
    }

    private func changed(_ object: BusObject, _ sender: String, _ message: BusMessage) {
        // Two services may use the same interface name, but not the same object path.
        for subscription in subscriptions.values {
            guard let wanted = subscription.wanted(at: object) else { continue }
            guard let properties = message.readProperties(wanted),
                let isInvalid = message.readNamesAny(of: wanted)
            else {
                events.append(.changed(sender: sender, object, [:], isComplete: false))
                return
            }
            guard !properties.isEmpty || isInvalid else { return }
            events.append(
                .changed(sender: sender, object, properties, isComplete: !isInvalid))
            return
        }
    }
}

/// A question to a service, or to the bus about a service.
enum BusQuestion: Hashable, Sendable {
    /// Which connection owns the service's name. The bus answers this one.
    case owner
    case properties(BusObject)
    case list
}

/// A question and its addressee.
struct BusRequest: Hashable, Sendable {
    /// The well-known name of the service that the question is about.
    var service: String
    /// The connection that owned the service's name when the request was made, or the bus itself
    /// for `owner`.
    var destination: String
    var question: BusQuestion
}

/// The parsed reply to a request.
enum BusReply: Hashable, Sendable {
    case owner(String)
    case properties(BusProperties)
    case tree(BusObjects)
    case paths([String])
    /// An error reply, with its name: `org.freedesktop.DBus.Error.AccessDenied`.
    case refused(String)
    /// No reply will come.
    case none
    /// The reply does not have the type that its interface documents.
    case garbled
}

/// A reply or a signal from the bus.
enum BusEvent: Hashable, Sendable {
    case reply(to: BusRequest, BusReply)
    /// The bus announces a service's new owner; `nil` if it has none.
    case owner(service: String, String?)
    /// The sender announces changed properties. If `isComplete` is false, some new values are
    /// missing and have to be fetched.
    case changed(sender: String, BusObject, BusProperties, isComplete: Bool)
    /// The sender sent any other signal.
    case signal(sender: String, BusObject, member: String)
}

/// An interface of an object on the bus.
struct BusObject: Hashable, Sendable {
    /// `/org/freedesktop/UPower`.
    var path: String
    /// `org.freedesktop.UPower`.
    var interface: String
}

/// What the program needs to know of one service. Everything else that the service sends is
/// dropped.
struct BusSubscription: Sendable {
    /// Objects that come and go, and the call that lists them.
    struct List: Sendable {
        /// The type of the call's reply.
        enum Layout: Sendable {
            /// `a{oa{sa{sv}}}`: the objects with all their properties. Changes of the properties
            /// are subscribed to.
            case tree
            /// An array of structures, each with fields of the types `leading` followed by an
            /// object path. The properties of an object are requested once, because they do not
            /// change.
            case paths(leading: String)
        }

        var path: String
        var interface: String
        var member: String
        var layout: Layout
        /// The signals of the same object and interface that announce a change of the list.
        var signals: [String]
        /// The names of the needed properties of each object, by interface. Objects of a tree that
        /// have none of these interfaces are dropped.
        var wanted: [String: Set<String>]
    }

    /// The service's name for display: `UPower`.
    var title: String
    /// The service's well-known name: `org.freedesktop.UPower`.
    var service: String
    /// The names of the needed properties of objects that always exist.
    var objects: [BusObject: Set<String>] = [:]
    var list: List?

    /// Returns the names of the needed properties of an object whose changes are subscribed to;
    /// `nil` for any other object.
    func wanted(at object: BusObject) -> Set<String>? {
        if let names = objects[object] { return names }
        guard let list, case .tree = list.layout, object.path.hasPrefix(list.path + "/") else {
            return nil
        }
        return list.wanted[object.interface]
    }

    /// The match rules for the signals that this subscription needs.
    ///
    /// A rule with a well-known name matches messages from the connection that owns the name when
    /// the message is sent (D-Bus specification, "Match Rules").
    var matches: [String] {
        let properties = "org.freedesktop.DBus.Properties"
        let own = "type='signal',sender='\(service)'"
        var rules = [
            """
            type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',\
            interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(service)'
            """
        ]
        for object in objects.keys {
            rules.append(
                """
                \(own),path='\(object.path)',interface='\(properties)',\
                member='PropertiesChanged',arg0='\(object.interface)'
                """)
        }
        guard let list else { return rules }
        for signal in list.signals {
            rules.append(
                "\(own),path='\(list.path)',interface='\(list.interface)',member='\(signal)'")
        }
        guard case .tree = list.layout else { return rules }
        for interface in list.wanted.keys {
            rules.append(
                """
                \(own),path_namespace='\(list.path)',interface='\(properties)',\
                member='PropertiesChanged',arg0='\(interface)'
                """)
        }
        return rules
    }
}
