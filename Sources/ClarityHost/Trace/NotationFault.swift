/// Why JSON is not the notation of an engine's value.
public enum NotationFault: Error, Hashable, Sendable {
    /// It is something other than an object.
    case noObject(got: String)
    /// A member that must be there is missing.
    case missing(name: String)
    /// The same member stands twice.
    case twice(name: String)
    /// No member has this name; another is near it.
    case unknownName(String, nearest: String?)
    /// A member has another type, or is out of range.
    case unexpected(name: String, got: String, wanted: String)
}

extension NotationFault: CustomStringConvertible {
    /// One line for people: ``battery` is `120`, wanted 0 to 100, "absent" or null``.
    public var description: String {
        switch self {
        case .noObject(let got): "got \(shown(got)), wanted an object"
        case .missing(let name): "\(shown(name)) is missing"
        case .twice(let name): "\(shown(name)) stands twice"
        case .unknownName(let name, let nearest):
            "unknown name \(shown(name))"
                + (nearest.map { "; did you mean \(shown($0))?" } ?? "")
        case .unexpected(let name, let got, let wanted):
            "\(shown(name)) is \(shown(got)), wanted \(wanted)"
        }
    }
}
