public import JSON
public import Testing

/// A case of a parameterised test is called after the beginning of its value.
extension JSON: CustomTestStringConvertible {
    public var testDescription: String {
        let line = self.line
        return line.count > 150 ? "\(line.prefix(150))... (\(line.count) characters)" : line
    }
}
