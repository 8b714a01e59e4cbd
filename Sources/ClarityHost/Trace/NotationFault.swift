/// The reason that JSON is not valid notation for an engine's value.
public enum NotationFault: Error, Hashable, Sendable {
    /// The value is not an object.
    case noObject(got: String)
    /// A required member is missing.
    case missing(name: String)
    /// The same member occurs twice.
    case twice(name: String)
    /// No condition or member has this name; `nearest` is the most similar known name.
    case unknownName(String, nearest: String?)
    /// A member has the wrong type, or is out of range.
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
