import JSON

extension Service.Call {
    /// The body, which must be a JSON object.
    ///
    /// - Throws: the answer 415 for a body that is declared to be something else, 422 for one that
    ///   is no JSON or no object.
    func body() throws(Refusal) -> Node {
        guard request.isJSON else {
            throw Refusal(
                .problem(415, "the body must be application/json", instance: request.path))
        }
        let value: JSON
        do {
            value = try JSONParser.parse(request.body)
        } catch {
            throw Refusal(
                .unprocessable([
                    ValidationFault(
                        location: "body" / error.offset, message: "not JSON: \(error.reason)",
                        type: "json_invalid")
                ]))
        }
        let node = Node(value: value, location: "body")
        var validation = Validation(now: now)
        _ = validation.object(node)
        try validation.finish()
        return node
    }

    /// A whole number of the query, `usual` when it is not given.
    func number(
        _ name: String, _ range: ClosedRange<Int>, usual: Int, _ validation: inout Validation
    ) -> Int {
        guard let text = request.query[name] else { return usual }
        let node = Node(
            value: Int64(text).map { .integer($0) } ?? .string(text), location: "query" / name)
        let bounds = Double(range.lowerBound)...Double(range.upperBound)
        return validation.number(node, bounds, whole: true).map { Int($0) } ?? usual
    }

    /// Who asks; on an endpoint that is open nobody does, which is 401.
    var account: Account {
        get throws(Refusal) {
            guard let caller else { throw Refusal(.invalidToken) }
            return caller.account
        }
    }

    /// Refuses a user that is not the one who asks. An id that differs in case alone is another.
    func requireOwn(_ user: String) throws(Refusal) {
        guard try user == account.id else {
            throw Refusal(
                .problem(403, "this belongs to another user", instance: request.path))
        }
    }

    /// The answer that there is no such thing.
    func missing(_ what: String) -> Refusal {
        Refusal(.problem(404, "there is no such \(what)", instance: request.path))
    }
}
