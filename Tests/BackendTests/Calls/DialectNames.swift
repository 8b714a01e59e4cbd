import Backend
public import BackendContract
public import Testing

/// A case of a parameterised test is called after the dialect's name.
extension Dialect: CustomTestStringConvertible {
    public var testDescription: String { name }
}
