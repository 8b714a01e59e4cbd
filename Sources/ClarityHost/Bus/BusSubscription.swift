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
