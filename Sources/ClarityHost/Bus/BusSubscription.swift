/// An interface of an object.
struct BusObject: Hashable, Sendable {
    /// `/org/freedesktop/UPower`.
    var path: String
    /// `org.freedesktop.UPower`.
    var interface: String
}

/// What is wanted of one service; nothing else that it says is kept.
struct BusSubscription: Sendable {
    /// Objects that come and go, and the call that lists them.
    struct List: Sendable {
        /// What the answer to the call looks like.
        enum Layout: Sendable {
            /// `a{oa{sa{sv}}}`, the objects with all their properties, whose changes are listened
            /// for.
            case tree
            /// An array of structures that end with an object's path, after fields of the types
            /// `leading`. The objects are asked once: their properties do not change.
            case paths(leading: String)
        }

        var path: String
        var interface: String
        var member: String
        var layout: Layout
        /// The signals of the same object and interface after which the list is another.
        var signals: [String]
        /// The names of the properties that are wanted of each object, by interface; an object of a
        /// tree that has none of the interfaces does not count.
        var wanted: [String: Set<String>]
    }

    /// The service's name for people: `UPower`.
    var title: String
    /// Its well-known name: `org.freedesktop.UPower`.
    var service: String
    /// The names of the properties that are wanted of objects that are always there.
    var objects: [BusObject: Set<String>] = [:]
    var list: List?

    /// The properties that are wanted of a place, if it is one of this service's.
    func wanted(at place: BusObject) -> Set<String>? {
        if let names = objects[place] { return names }
        guard let list, case .tree = list.layout, place.path.hasPrefix(list.path + "/") else {
            return nil
        }
        return list.wanted[place.interface]
    }

    /// The rules by which the bus passes on what this needs to hear.
    ///
    /// A rule with a well-known name matches what the name's owner sends, at the time at which it is
    /// sent (D-Bus specification, "Match Rules").
    var matches: [String] {
        let properties = "org.freedesktop.DBus.Properties"
        let own = "type='signal',sender='\(service)'"
        var rules = [
            """
            type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',\
            interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(service)'
            """
        ]
        for place in objects.keys {
            rules.append(
                """
                \(own),path='\(place.path)',interface='\(properties)',\
                member='PropertiesChanged',arg0='\(place.interface)'
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
