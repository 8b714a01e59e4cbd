/// What happens to one request in place of, or around, its usual answer.
enum FaultAction: Hashable, Sendable {
    /// This status; the request is not looked at.
    case status(Int, retryAfter: Int?)
    /// The connection is reset; the request is not looked at.
    case reset
    /// The request is carried out; half of its answer is sent.
    case truncate
    /// The request is carried out; its answer waits.
    case latency(Duration)
    /// 200 with a body that is no JSON; the request is not looked at.
    case garbage
    /// 401; the token that came with the request is revoked.
    case expire
    /// The request is carried out; the connection is reset without an answer.
    case drop
    /// The request is carried out; this status is answered all the same, in the dialect's words for
    /// a failure behind the service.
    case stored(Int)
    /// What the dialect answers when what stands behind the service is down; the request is not
    /// carried out.
    case outage
    /// Nothing is ever answered; the request is not looked at.
    case hang
    /// The request is answered as usual.
    case pass
}

/// Why a fault's text cannot be read.
struct FaultSyntaxError: Error, Hashable, CustomStringConvertible {
    var description: String
}

/// Faults for the requests of one method and path, one after the other:
/// `POST /health-data/upload: 503 retry-after=2 x3, reset x1`; or for those alone whose body has a
/// text: `POST /health-data/upload ~211.25: 422 x*`.
struct FaultRule: Hashable, Sendable {
    /// An action and how often it is still taken; `nil` is for ever.
    struct Step: Hashable, Sendable {
        var action: FaultAction
        var remaining: Int?
    }

    /// `*` is any method.
    var method: String
    /// The path after the base path, in segments; `*` is any one segment.
    var segments: [String]
    /// What the body must have somewhere, byte for byte; empty for any body.
    var text: [UInt8] = []
    var steps: [Step]

    /// Whether the rule is for this request.
    func matches(method: String, segments: [Substring], body: [UInt8]) -> Bool {
        (self.method == "*" || self.method == method)
            && self.segments.elementsEqual(segments) { $0 == "*" || $0 == $1 }
            && (text.isEmpty || body.contains(text))
    }

    /// Reads `METHOD PATH [~TEXT]: ACTION [retry-after=SECONDS] [xCOUNT|x*], ...`; the count is 1 when
    /// none is given, `x*` is for ever. The text has no blank and no colon.
    init(_ text: String) throws(FaultSyntaxError) {
        func fault(_ reason: String) -> FaultSyntaxError {
            FaultSyntaxError(description: "fault `\(text)`: \(reason)")
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
    fileprivate init(_ words: [Substring]) throws(FaultSyntaxError) {
        guard let name = words.first else {
            throw FaultSyntaxError(description: "an action is missing")
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
                throw FaultSyntaxError(
                    description:
                        "unknown word `\(word)`; there are `x3`, `x*` and, after a status, "
                        + "`retry-after=SECONDS`")
            }
        }
        action = try FaultRule.Step.action(String(name), retryAfter)
    }

    private static func action(
        _ name: String, _ retryAfter: Int?
    ) throws(FaultSyntaxError) -> FaultAction {
        switch name {
        case "reset": return .reset
        case "truncate": return .truncate
        case "garbage": return .garbage
        case "expire": return .expire
        case "drop": return .drop
        case "hang": return .hang
        case "outage": return .outage
        case "pass": return .pass
        default: break
        }
        if name.hasPrefix("latency=") {
            guard let span = Duration(span: String(name.dropFirst("latency=".count))) else {
                throw FaultSyntaxError(
                    description: "`\(name)` has no span such as `250ms` or `2s`")
            }
            return .latency(span)
        }
        if name.hasPrefix("stored=") {
            guard let status = Int(name.dropFirst("stored=".count)), (400...599).contains(status)
            else {
                throw FaultSyntaxError(description: "`\(name)` has no status of 400 to 599")
            }
            return .stored(status)
        }
        if let status = Int(name), (200...599).contains(status) {
            return .status(status, retryAfter: retryAfter)
        }
        throw FaultSyntaxError(
            description:
                "unknown action `\(name)`; there are a status of 200 to 599, reset, truncate, "
                + "latency=SPAN, garbage, expire, drop, stored=STATUS, outage, hang and pass")
    }
}
