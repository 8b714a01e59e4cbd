import JSON

extension Service.Call {
    /// Returns the value of the body, whatever its declared type.
    ///
    /// - Throws: the answer 400 if the body is not text, such as a compressed one, 422 if it is not
    ///   JSON.
    func laxValue() throws(Refusal) -> Node {
        guard String(validating: request.body, as: UTF8.self) != nil else {
            throw Refusal(.detail(400, "There was an error parsing the body"))
        }
        if request.body.isEmpty { return Node(value: nil, location: "body") }
        do {
            return Node(value: try JSONParser.parse(request.body), location: "body")
        } catch {
            throw Refusal(
                .unprocessable([
                    RequestFault(
                        location: "body" / error.offset, message: "Should be JSON",
                        type: "json_invalid", echo: ([:], ["error": .string(error.reason)]))
                ]))
        }
    }

    /// Returns the body, which must be an object.
    func laxBody() throws(Refusal) -> Node {
        let node = try laxValue()
        var validation = Validation.lax
        // A body that is declared as another type is treated as text.
        let isText = !request.isJSON && node.value != nil
        let seen = isText ? Node(value: "not JSON", location: node.location) : node
        _ = validation.object(seen, "model_attributes_type")
        try validation.finish()
        return node
    }

    /// Returns a value of the query.
    func queried(_ name: String) -> Node {
        Node(value: request.query[name].map { .string($0) }, location: "query" / name)
    }

    /// Returns an integer from the query, clamped to a range that arithmetic can handle.
    func queriedNumber(
        _ name: String, _ range: ClosedRange<Double>? = nil, _ validation: inout Validation
    ) -> Int? {
        validation.number(queried(name), range, whole: true, required: false)
            .map { Int(min(max($0, -1e9), 1e9)) }
    }

    /// Returns a UUID from the path, in lower case.
    func pathUUID(_ name: String) throws(Refusal) -> String {
        var validation = Validation.lax
        let node = Node(value: .string(parameters[0]), location: "path" / name)
        let uuid = validation.uuid(node)
        try validation.finish()
        return uuid ?? parameters[0]
    }
}

extension LoopRoutes {
    /// Counts the request in its window, if limits are enforced.
    ///
    /// - Throws: the answer 429 if the window is full.
    func count(_ operation: Operation, _ call: Service.Call) throws(Refusal) {
        guard has(.limits), let limit = rates[operation] else { return }
        let user = limit.scope == .user ? call.caller?.account.id ?? "" : ""
        guard let end = windows.admit("\(operation) \(user)", limit, at: call.now) else { return }
        let isWrong = has(.retryAfterZero)
        let seconds = { (time: Timestamp) in (time.milliseconds + 999) / 1000 }
        throw Refusal(
            .limited(
                instance: call.request.path,
                headers: [
                    .init(name: "X-RateLimit-Limit", value: String(limit.count)),
                    .init(
                        name: "X-RateLimit-Remaining", value: String(isWrong ? limit.count : 0)),
                    .init(
                        name: "X-RateLimit-Reset", value: String(seconds(isWrong ? call.now : end))),
                    .init(
                        name: "Retry-After",
                        value: isWrong
                            ? "0" : String((end.milliseconds - call.now.milliseconds + 999) / 1000)),
                ]))
    }
}
