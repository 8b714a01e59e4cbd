/// A fault that replaces or changes the answer to one request.
enum FaultAction: Hashable, Sendable {
    /// Answers with this status without processing the request.
    case status(Int, retryAfter: Int?)
    /// Resets the connection without processing the request.
    case reset
    /// Processes the request, and sends half of the answer.
    case truncate
    /// Processes the request, and delays the answer.
    case latency(Duration)
    /// Answers 200 with a body that is not JSON, without processing the request.
    case garbage
    /// Answers 401 and revokes the request's token.
    case expire
    /// Processes the request, and resets the connection without an answer.
    case drop
    /// Processes the request, but answers with this status, as the dialect does for a failure
    /// behind the service.
    case stored(Int)
    /// Answers as the dialect does when a system behind the service is down, without processing the
    /// request.
    case outage
    /// Never answers, and does not process the request.
    case hang
    /// Answers as if the request were stored, and stores nothing. FHIR alone.
    case lose
    /// Answers 400 with an OperationOutcome of 4 MiB. FHIR alone.
    case bloat
    /// Deletes every resource, then processes the request. FHIR alone.
    case empty
    /// Answers as usual.
    case pass
}

/// A reason why the command line, or the text of a fault, cannot be parsed.
struct UsageError: Error, Hashable, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}

/// Faults for requests with one method and path, in order.
///
/// An example is `POST /health-data/upload: 503 retry-after=2 x3, reset x1`. A rule can be limited
/// to requests whose body contains a text: `POST /health-data/upload ~211.25: 422 x*`.
struct FaultRule: Hashable, Sendable {
    /// An action, and how many times it is still taken; `nil` means for ever.
    struct Step: Hashable, Sendable {
        var action: FaultAction
        var remaining: Int?
    }

    /// The method; `*` matches any.
    var method: String
    /// The segments of the path after the base path; `*` matches any one segment.
    var segments: [String]
    /// The bytes that the body must contain; empty for any body.
    var text: [UInt8] = []
    var steps: [Step]

    /// Returns whether the rule applies to a request.
    func matches(method: String, segments: [Substring], body: [UInt8]) -> Bool {
        (self.method == "*" || self.method == method)
            && self.segments.elementsEqual(segments) { $0 == "*" || $0 == $1 }
            && (text.isEmpty || body.contains(text))
    }

    /// Parses `METHOD PATH [~TEXT]: ACTION [retry-after=SECONDS] [xCOUNT|x*], ...`.
    ///
    /// The count is 1 by default, and `x*` means for ever. TEXT contains neither a space nor a
    /// colon.
    init(_ text: String) throws(UsageError) {
        func fault(_ reason: String) -> UsageError {
            UsageError("fault `\(text)`: \(reason)")
        }
        guard let colon = text.firstIndex(of: ":") else {
            throw fault("`:` missing; write `METHOD PATH: ACTION xCOUNT, ...`")
        }
        let target = text[..<colon].split(separator: " ")
        guard (2...3).contains(target.count), target[1].hasPrefix("/") else {
            throw fault("a method and a path such as `GET /health-data` must precede `:`")
        }
        if target.count == 3 {
            guard target[2].hasPrefix("~"), target[2].utf8.count > 1 else {
                throw fault("what follows the path is a text of the body such as `~211.25`")
            }
            self.text = Array(target[2].dropFirst().utf8)
        }
        let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "*"]
        guard methods.contains(String(target[0])) else {
            throw fault(
                "unknown method `\(target[0])`; there are \(methods.joined(separator: ", "))")
        }
        method = String(target[0])
        segments = target[1].split(separator: "/").map(String.init)
        steps = []
        for part in text[text.index(after: colon)...].split(
            separator: ",", omittingEmptySubsequences: false)
        {
            do {
                steps.append(try Step(part.split(separator: " ")))
            } catch {
                throw fault(error.description)
            }
        }
    }
}

extension FaultRule.Step {
    fileprivate init(_ words: [Substring]) throws(UsageError) {
        guard let name = words.first else {
            throw UsageError("an action is missing")
        }
        var retryAfter: Int?
        remaining = 1
        for word in words.dropFirst() {
            if word == "x*" {
                remaining = nil
            } else if word.hasPrefix("x"), let count = Int(word.dropFirst()), count > 0 {
                remaining = count
            } else if word.hasPrefix("retry-after="), Int(name) != nil,
                let seconds = Int(word.dropFirst("retry-after=".count)), seconds >= 0
            {
                retryAfter = seconds
            } else {
                throw UsageError(
                    "unknown word `\(word)`; there are `x3`, `x*` and, after a status, "
                        + "`retry-after=SECONDS`")
            }
        }
        action = try FaultRule.Step.action(String(name), retryAfter)
    }

    /// The actions without a number.
    private static let plainActions: [String: FaultAction] = [
        "reset": .reset, "truncate": .truncate, "garbage": .garbage, "expire": .expire,
        "drop": .drop, "hang": .hang, "outage": .outage, "pass": .pass, "lose": .lose,
        "bloat": .bloat, "empty": .empty,
    ]

    private static func action(
        _ name: String, _ retryAfter: Int?
    ) throws(UsageError) -> FaultAction {
        if let action = plainActions[name] { return action }
        if name.hasPrefix("latency=") {
            guard let span = Duration(span: String(name.dropFirst("latency=".count))) else {
                throw UsageError(
                    "`\(name)` has no span such as `250ms` or `2s`")
            }
            return .latency(span)
        }
        if name.hasPrefix("stored=") {
            guard let status = Int(name.dropFirst("stored=".count)), (400...599).contains(status)
            else {
                throw UsageError("`\(name)` has no status of 400 to 599")
            }
            return .stored(status)
        }
        if let status = Int(name), (200...599).contains(status) {
            return .status(status, retryAfter: retryAfter)
        }
        throw UsageError(
            "unknown action `\(name)`; there are a status of 200 to 599, reset, truncate, "
                + "latency=SPAN, garbage, expire, drop, stored=STATUS, outage, hang, pass and, for "
                + "FHIR, lose, bloat and empty")
    }
}

/// The faults that are still to be injected.
struct FaultPlan: Sendable {
    private(set) var rules: [FaultRule] = []
    /// The number of requests that met a fault other than `pass` since `clear()`.
    private(set) var struck = 0

    /// Adds a rule; earlier rules take precedence.
    mutating func add(_ rule: FaultRule) { rules.append(rule) }

    /// Removes all rules and resets the count.
    mutating func clear() { (rules, struck) = ([], 0) }

    /// Returns the action for the next request of this kind and uses it up; `nil` if no rule has
    /// one left.
    ///
    /// - Parameter segments: the segments of the path after the base path.
    mutating func next(
        method: String, segments: [Substring], body: [UInt8] = []
    ) -> FaultAction? {
        guard
            let index = rules.firstIndex(where: {
                $0.matches(method: method, segments: segments, body: body)
            }), let step = rules[index].steps.first
        else { return nil }
        if let remaining = step.remaining {
            if remaining > 1 {
                rules[index].steps[0].remaining = remaining - 1
            } else {
                rules[index].steps.removeFirst()
                if rules[index].steps.isEmpty { rules.remove(at: index) }
            }
        }
        if step.action != .pass { struck += 1 }
        return step.action
    }
}
