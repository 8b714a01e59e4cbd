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

/// A fault at one location of a request; it never repeats the value found there.
struct ValidationFault: Hashable, Sendable {
    var location: Location
    var message: String
    /// The machine-readable type, such as `missing`.
    var type: String
}
