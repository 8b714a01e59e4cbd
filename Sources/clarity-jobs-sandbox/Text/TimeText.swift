import JSON

extension JSON {
    /// Returns an instant in ISO 8601.
    static func time(_ time: Timestamp) -> JSON { .string(time.description) }
}
