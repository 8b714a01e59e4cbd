/// A value that is health data, a secret, or holds some: it reaches no text by accident.
///
/// Written into a string literal it is a warning, which here stops the build. Where it becomes text in
/// another way, in an array, an optional or another value, by `print`, `dump` or an assertion, it is
/// `<redacted>`. What is wanted of it as text must be asked for by name.
public protocol PrivateValue: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{}

extension PrivateValue {
    public var description: String { "<redacted>" }
    public var debugDescription: String { "<redacted>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension DefaultStringInterpolation {
    /// Writes `<redacted>`, and warns while the program is built.
    ///
    /// Deprecated and not unavailable: of two overloads the compiler passes over an unavailable one in
    /// silence.
    @available(*, deprecated, message: "health data and secrets do not belong in a text")
    public mutating func appendInterpolation(_ value: some PrivateValue) {
        appendLiteral(value.description)
    }
}
