import JSON

/// A location in a request, such as `["body", "metrics", 7, "created_at"]`.
struct Location: Hashable, Sendable, ExpressibleByStringLiteral {
    enum Step: Hashable, Sendable {
        case name(String)
        case index(Int)
    }

    var steps: [Step]

    init(stringLiteral name: String) { steps = [.name(name)] }

    static func / (location: Location, name: String) -> Location {
        location.adding(.name(name))
    }

    static func / (location: Location, index: Int) -> Location {
        location.adding(.index(index))
    }

    private func adding(_ step: Step) -> Location {
        var longer = self
        longer.steps.append(step)
        return longer
    }

    var json: JSON {
        .array(
            steps.map { step in
                switch step {
                case .name(let name): .string(name)
                case .index(let index): .count(index)
                }
            })
    }
}

/// A fault at one location of a request.
struct RequestFault {
    var location: Location
    var message: String
    /// The machine-readable type, such as `missing`.
    var type: String
    /// The value found there, or for a missing field the object that lacks it, and further details
    /// such as the bound that the value exceeds.
    ///
    /// Only the deployed backend sends back the values that it refuses.
    var echo: (input: JSON, context: JSON?)?

    var json: JSON {
        let (location, message) = (location.json, JSON.string(message))
        guard let echo else {
            return ["loc": location, "msg": message, "type": .string(type)]
        }
        let members: [JSON.Member] = [
            .init(name: "type", value: .string(type)), .init(name: "loc", value: location),
            .init(name: "msg", value: message), .init(name: "input", value: echo.input),
        ]
        return .object(members + (echo.context.map { [.init(name: "ctx", value: $0)] } ?? []))
    }
}
