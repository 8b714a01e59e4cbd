/// A token, password or key; only `reveal()` returns its text.
public struct Secret: Hashable, Sendable, PrivateValue {
    private let text: String

    /// Wraps a secret.
    public init(_ text: String) { self.text = text }

    /// Returns the secret itself, for a request to the backend or an encrypted store only.
    public func reveal() -> String { text }
}
