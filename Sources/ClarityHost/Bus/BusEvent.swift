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
