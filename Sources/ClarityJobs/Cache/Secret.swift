/// A token, password or key: text that never reaches an error, log or output by accident.
///
/// Interpolated or dumped it is `<redacted>`; `reveal()` is the one way to its text.
public struct Secret: Hashable, Sendable {
    private let text: String

    /// Wraps a secret.
    public init(_ text: String) { self.text = text }

    /// The secret itself, for the wire or a sealed store only.
    public func reveal() -> String { text }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<redacted>" }
    public var debugDescription: String { "<redacted>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
