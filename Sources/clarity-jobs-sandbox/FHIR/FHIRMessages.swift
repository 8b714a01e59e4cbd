import JSON

/// One interaction: a request of its own, or an entry of a bundle.
struct FHIRInteraction {
    var method: String
    /// The URL below the base, with its query.
    var url: String
    var segments: [Substring]
    var query: [(name: String, value: String)] = []
    var resource: JSON?
    var ifMatch: String?
    var ifNoneExist: String?
    /// The id that a transaction has chosen for a new resource.
    var assignedID: String?

    /// Creates the interaction of a bundle's entry (bundle.html, `Bundle.entry.request`); `nil` if
    /// the method or the URL is missing.
    init?(entry: JSON) {
        guard let request = entry["request"], let method = request["method"]?.text,
            let url = request["url"]?.text
        else { return nil }
        let parts = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        (self.method, self.url) = (method, url)
        segments = parts[0].split(separator: "/")
        query = parts.count == 2 ? FHIRInteraction.pairs(String(parts[1])) : []
        resource = entry["resource"]
        ifMatch = request["ifMatch"]?.text
        ifNoneExist = request["ifNoneExist"]?.text
    }

    /// Creates the interaction of a request.
    init(_ request: Request, _ segments: [Substring], resource: JSON?) {
        method = request.method
        query = request.pairs
        let text = query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        url = segments.joined(separator: "/") + (text.isEmpty ? "" : "?" + text)
        self.segments = segments
        self.resource = resource
        ifMatch = request.headers["if-match"]
        ifNoneExist = request.headers["if-none-exist"]
    }

    /// Returns the parameters of a query, or of a form, with escapes decoded.
    static func pairs(_ query: String) -> [(name: String, value: String)] {
        query.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (decoded(parts[0]), parts.count == 2 ? decoded(parts[1]) : "")
        }
    }

    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"),
                let escaped = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(escaped)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// What an interaction came to.
struct FHIRResult {
    var status: Int
    /// The version that was written or read.
    var version: FHIRVersion?
    /// The body, if it is not that version: a bundle.
    var resource: JSON?
}

/// One refusal as an OperationOutcome (operationoutcome.html).
struct FHIRRefusal: Error {
    /// A fault, with a code of the value set `issue-type`.
    struct Issue {
        var code: String
        /// The text for a person. Like that of real servers, it repeats values of the request.
        var diagnostics: String
        var expression: String?
    }

    var status: Int
    var issues: [Issue]
    var retryAfter: Int?

    init(
        _ status: Int, _ code: String, _ diagnostics: String, at expression: String? = nil,
        retryAfter: Int? = nil
    ) {
        self.init(
            status, [Issue(code: code, diagnostics: diagnostics, expression: expression)])
        self.retryAfter = retryAfter
    }

    init(_ status: Int, _ issues: [Issue]) { (self.status, self.issues) = (status, issues) }

    /// Creates the refusal that a status alone stands for.
    init(status: Int, retryAfter: Int? = nil) {
        let code =
            switch status {
            case 401: "login"
            case 403: "forbidden"
            case 404: "not-found"
            case 409, 412: "conflict"
            case 410: "deleted"
            case 413: "too-long"
            case 422: "processing"
            case 429: "throttled"
            case 400..<500: "invalid"
            case 503: "transient"
            default: "exception"
            }
        self.init(status, code, Response.title(status), retryAfter: retryAfter)
    }

    var outcome: JSON {
        let issues = issues.map { issue -> JSON in
            let issueJSON: JSON = [
                "severity": "error", "code": .string(issue.code),
                "diagnostics": .string(issue.diagnostics),
            ]
            guard let expression = issue.expression else { return issueJSON }
            return issueJSON.adding(["expression": [.string(expression)]])
        }
        return ["resourceType": "OperationOutcome", "issue": .array(issues)]
    }

    var response: Response {
        let headers = retryAfter.map { [Response.Header(name: "Retry-After", value: "\($0)")] }
        return .fhir(status, outcome, headers: headers ?? [])
    }
}

extension Response {
    /// Returns an answer with a resource.
    static func fhir(_ status: Int, _ body: JSON, headers: [Header] = []) -> Response {
        .json(status, body, type: "application/fhir+json; charset=utf-8", headers: headers)
    }
}

extension JSON {
    /// The elements of a list; empty for anything else.
    var list: [JSON] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }

    /// The members of an object; empty for anything else.
    var members: [Member] {
        guard case .object(let members) = self else { return [] }
        return members
    }

    /// Returns the object with these members at its front, in place of those of the same names.
    func leading(_ first: JSON) -> JSON {
        let names = first.members.map(\.name)
        return .object(first.members + members.filter { !names.contains($0.name) })
    }
}
