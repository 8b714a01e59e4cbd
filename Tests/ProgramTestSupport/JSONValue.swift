import FoundationEssentials

/// A JSON text as a strict parser reads it.
enum JSONValue: Hashable, Decodable {
    case null
    case bool(Bool)
    case number(Int)
    /// A number that is not an integer.
    case real(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Parses a whole text.
    init(_ text: String) throws {
        self = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    }

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let number = try? value.decode(Int.self) {
            self = .number(number)
        } else if let real = try? value.decode(Double.self) {
            self = .real(real)
        } else if let string = try? value.decode(String.self) {
            self = .string(string)
        } else if let array = try? value.decode([JSONValue].self) {
            self = .array(array)
        } else {
            self = .object(try value.decode([String: JSONValue].self))
        }
    }

    /// Returns a member, or `null` if there is none.
    subscript(_ name: String) -> JSONValue {
        guard case .object(let members) = self else { return .null }
        return members[name] ?? .null
    }

    var elements: [JSONValue] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }

    var keys: Set<String> {
        guard case .object(let members) = self else { return [] }
        return Set(members.keys)
    }

    var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    var number: Int? {
        guard case .number(let number) = self else { return nil }
        return number
    }
}
