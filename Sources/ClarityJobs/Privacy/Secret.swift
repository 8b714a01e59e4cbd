/// A token, password or key; `reveal()` is the one way to its text.
public struct Secret: Hashable, Sendable, PrivateValue {
    private let text: String

    /// Wraps a secret.
    public init(_ text: String) { self.text = text }

    /// The secret itself, for the wire or a sealed store only.
    public func reveal() -> String { text }
}
