/// A value that is health data or a secret, or contains some, and never becomes text by accident.
///
/// In a string literal it causes a warning, which stops the build in this project. Any other way to
/// text gives `<redacted>`: inside an array, an optional or another value, and through `print`,
/// `dump` or an assertion. Code that needs the text must call a method that says so by its name.
public protocol PrivateValue: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{}

extension PrivateValue {
    public var description: String { "<redacted>" }
    public var debugDescription: String { "<redacted>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension DefaultStringInterpolation {
    /// Writes `<redacted>`, and causes a warning at compile time.
    ///
    /// It is deprecated and not unavailable, because the compiler silently passes over an
    /// unavailable overload if there is another.
    @available(*, deprecated, message: "health data and secrets do not belong in a text")
    public mutating func appendInterpolation(_ value: some PrivateValue) {
        appendLiteral(value.description)
    }
}

/// A token, password or key; only `reveal()` returns its text.
public struct Secret: Hashable, Sendable, PrivateValue {
    private let text: String

    /// Wraps a secret.
    public init(_ text: String) { self.text = text }

    /// Reads a token, a key or an address: the first line that is not blank, without the blanks
    /// around it. Lines end as on Unix or as on Windows.
    ///
    /// Returns `nil` if there is none, or it is not UTF-8.
    public init?(firstLineOf bytes: some Sequence<UInt8>) {
        func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == 0x09 }
        let line = bytes.split { $0 == 0x0A || $0 == 0x0D }
            .map { $0.drop(while: isBlank) }.first { !$0.isEmpty }
        guard let line, let last = line.lastIndex(where: { !isBlank($0) }),
            let text = String(validating: line[...last], as: UTF8.self)
        else { return nil }
        self.text = text
    }

    /// Returns the secret itself, for a request to the backend or an encrypted store only.
    public func reveal() -> String { text }
}
