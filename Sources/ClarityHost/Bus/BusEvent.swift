/// What a service, or the bus about it, is asked.
enum BusQuestion: Hashable, Sendable {
    /// Who has the service's name; asked of the bus.
    case owner
    case properties(BusObject)
    case list
}

/// A question with whom it is put to.
struct BusRequest: Hashable, Sendable {
    /// The well-known name of the service that it is about.
    var service: String
    /// Who is asked: the connection that had that name then; the bus itself for `owner`.
    var destination: String
    var question: BusQuestion
}

/// An answer, as far as it could be read.
enum BusReply: Hashable, Sendable {
    case owner(String)
    case properties(BusProperties)
    case tree(BusObjects)
    case paths([String])
    /// An error; its name: `org.freedesktop.DBus.Error.AccessDenied`.
    case refused(String)
    /// There will be none.
    case none
    /// It does not have the form that its interface states.
    case garbled
}

/// Something that came from the bus.
enum BusEvent: Hashable, Sendable {
    case reply(to: BusRequest, BusReply)
    /// The bus says who has a service's name from now on; `nil` for nobody.
    case owner(service: String, String?)
    /// Somebody says that properties changed; with `isComplete` not set there is more to know.
    case changed(sender: String, BusObject, BusProperties, isComplete: Bool)
    /// Somebody sent another signal.
    case signal(sender: String, BusObject, member: String)
}
