import JSON

extension Request {
    /// Returns an integer from the query, or `usual` if it is not given.
    func number(
        _ name: String, _ range: ClosedRange<Int>, usual: Int, _ validation: inout Validation
    ) -> Int {
        guard let text = query[name] else { return usual }
        let node = Node(
            value: Int64(text).map { .integer($0) } ?? .string(text), location: "query" / name)
        let bounds = Double(range.lowerBound)...Double(range.upperBound)
        return validation.number(node, bounds, whole: true).map { Int($0) } ?? usual
    }
}

extension Service.Call {
    /// Returns the body, which must be a JSON object.
    ///
    /// - Throws: the answer 415 if the body is declared as anything else, 422 if it is not JSON or
    ///   not an object.
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
                    RequestFault(
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

    /// The caller's account.
    ///
    /// - Throws: the answer 401 if the request has no caller, as on an open endpoint.
    var account: Account {
        get throws(Refusal) {
            guard let caller else { throw Refusal(.invalidToken) }
            return caller.account
        }
    }

    /// Refuses a user who is not the caller. Ids are case-sensitive.
    func requireOwn(_ user: String) throws(Refusal) {
        guard try user == account.id else {
            throw Refusal(
                .problem(403, "this belongs to another user", instance: request.path))
        }
    }

    /// Returns the answer that a resource does not exist.
    func missing(_ what: String) -> Refusal {
        Refusal(.problem(404, "there is no such \(what)", instance: request.path))
    }
}
