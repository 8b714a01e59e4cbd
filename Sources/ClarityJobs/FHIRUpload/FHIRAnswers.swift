import Backend
import BackendContract
import HealthStore
import ClarityScheduler
import JSON

/// What a server answers to one entry of a bundle.
enum FHIREntryAnswer {
    /// It has the resource; carries whether it is a new one, and the digest of its version.
    case stored(isNew: Bool, server: UInt64)
    /// It will never take this record; carries the code of its reason.
    case refused(String)
    /// Whether it has the record is to be looked up.
    case unclear
    /// The resource is not there, or what it refers to is not.
    case missing(FHIRRefusal)
    /// It takes this entry and all that follow another time, or not from us.
    case later(FHIRRefusal)
}

/// A server that did not take what was sent, and what that means for the attempt.
struct FHIRRefusal: Error {
    let category: Failure.Category
    let reason: String
    let wait: Duration?
    /// Whether the server may have it in spite of that.
    var mayHaveArrived = false
    var isTooLarge = false
    /// Whether another token may help (401).
    var isOfToken = false
    /// Whether the login may not do it (403).
    var isForbidden = false
    /// Whether the server only wants fewer requests at a time.
    var isTooFast = false

    /// Whether the same may be taken later.
    var isAnotherTime: Bool { category == .unreachable || isOfToken }

    init(_ category: Failure.Category, _ reason: String, after wait: Duration? = nil) {
        (self.category, self.reason, self.wait) = (category, reason, wait)
    }

    /// - Parameter hasWorked: whether the attempt settled something before. Then it is no failure
    ///   that the rest comes later, and uses up no retry.
    func outcome(hasWorked: Bool = false) -> Outcome {
        let failure = Failure(category, reason)
        guard category == .unreachable else { return .failure(failure) }
        guard hasWorked, isTooFast else { return .retry(after: wait, failure) }
        return .snooze(after: wait ?? .seconds(30), failure)
    }
}

/// Reads what a FHIR server answers, whatever that is.
struct FHIRAnswers: Sendable {
    /// The address of the server, for messages.
    let base: String
    /// What it means that the server refuses the login (401).
    let ofLogin: String
    let clock: any WallClock

    init(base: String, ofLogin: String, clock: any WallClock) {
        (self.base, self.ofLogin, self.clock) = (base, ofLogin, clock)
    }

    /// Returns what a server can, and how it gets resources by that (CapabilityStatement).
    func abilities(
        in response: HTTPResponse
    ) throws -> (naming: FHIRNaming, takesDevices: Bool) {
        let statement = try json(of: response)
        guard statement["resourceType"]?.text == "CapabilityStatement" else {
            throw FHIRRefusal(.configuration, "`\(base)/metadata` is no CapabilityStatement")
        }
        let version = statement["fhirVersion"]?.text ?? "none"
        guard version.hasPrefix("4.0") else {
            throw FHIRRefusal(
                .configuration,
                "`\(base)` has FHIR `\(DisplayWord.of(version))`; R4 (4.0.1) is wanted")
        }
        let resources = (statement["rest"]?.list ?? []).flatMap { $0["resource"]?.list ?? [] }
        let observation = resources.first { $0["type"]?.text == "Observation" }
        guard observation?["updateCreate"] == .bool(false) else {
            let knowsDevices = resources.contains { $0["type"]?.text == "Device" }
            return (.byClient, resources.isEmpty || knowsDevices)
        }
        guard observation?["conditionalCreate"] == .bool(true) else {
            throw FHIRRefusal(
                .configuration,
                "`\(base)` takes neither ids that a client chooses for Observations (updateCreate) nor "
                    + "conditional creates, without which a repetition could make a second one")
        }
        // A Device has no id before the server has given it one, so nothing can refer to it.
        return (.byServer, false)
    }

    /// Returns the answer to each entry of a bundle with so many. There are many, and they say much
    /// that nobody asked for: it becomes no tree.
    func entries(in response: HTTPResponse, count: Int) throws -> [FHIREntryAnswer] {
        guard response.status == 200 else { throw refusal(of: response) }
        var type: String?
        var entries: [EntryResponse] = []
        entries.reserveCapacity(count)
        var parser = JSONParser(response.body)
        guard parser.next == UInt8(ascii: "{") else { throw notJSON }
        do throws(JSONFault) {
            try parser.members { name, parser throws(JSONFault) in
                switch name {
                case "resourceType": type = try parser.text()
                case "entry":
                    try parser.elements { parser throws(JSONFault) in
                        entries.append(try EntryResponse(&parser))
                    }
                default: return false
                }
                return true
            }
            try parser.end()
        } catch {
            throw notJSON
        }
        guard type == "Bundle", entries.count == count else {
            throw unclear("did not answer each entry of a bundle")
        }
        let wait = wait(of: response)
        return entries.map { entryAnswer($0, after: wait) }
    }

    /// Returns what a page of a search has, an Observation of somebody else as `nil`, and the address
    /// of the next page.
    func page(
        in response: HTTPResponse, _ naming: FHIRNaming
    ) throws -> (found: [FHIRFound?], next: String?) {
        let bundle = try json(of: response)
        guard bundle["resourceType"]?.text == "Bundle" else {
            throw unclear("answered a search with no bundle")
        }
        let found = (bundle["entry"]?.list ?? []).compactMap { $0["resource"] }
            .map { FHIRFound($0, naming) }
        let next = (bundle["link"]?.list ?? []).first { $0["relation"]?.text == "next" }
        guard let url = next?["url"]?.text else { return (found, nil) }
        // The login is for this server alone.
        guard url.hasPrefix(base + "/") || url.hasPrefix(base + "?") else {
            throw FHIRRefusal(.configuration, "`\(base)` sends to other addresses for pages")
        }
        return (found, url)
    }

    func unclear(_ what: String) -> FHIRRefusal {
        var refusal = FHIRRefusal(.unreachable, "`\(base)` \(what)")
        refusal.mayHaveArrived = true
        return refusal
    }

    func json(of response: HTTPResponse) throws -> JSON {
        guard response.status == 200 else { throw refusal(of: response) }
        do throws(JSONFault) {
            return try JSONParser.parse(response.body)
        } catch {
            throw notJSON
        }
    }

    private var notJSON: FHIRRefusal { unclear("answered with something else than JSON") }

    private func refusal(of response: HTTPResponse) -> FHIRRefusal {
        let says = "`\(base)` answers \(response.status)"
        switch response.status {
        case 300...399:
            return FHIRRefusal(.configuration, "\(says), which sends elsewhere; name that place")
        case 401:
            return FHIRRefusal(.credential, "\(says): \(ofLogin)")
        case 403:
            var refusal = FHIRRefusal(.credential, "\(says): the token may not write there")
            refusal.isForbidden = true
            return refusal
        case 404: return FHIRRefusal(.configuration, "\(says): there is no FHIR server")
        case 408, 425, 429, 500...:
            var refusal = FHIRRefusal(.unreachable, says, after: wait(of: response))
            refusal.isTooFast = [429, 503].contains(response.status)
            refusal.mayHaveArrived = response.status >= 500 && response.status != 503
            return refusal
        case 413:
            var refusal = FHIRRefusal(.work, "\(says): the bundle is too large for it")
            refusal.isTooLarge = true
            return refusal
        default: return FHIRRefusal(.work, "\(says): it refuses a bundle")
        }
    }

    private func wait(of response: HTTPResponse) -> Duration? {
        RetryAfter.believable(response.headers["retry-after"], now: clock.now)
    }

    private func unknownReference(_ says: String) -> FHIRRefusal {
        FHIRRefusal(
            .configuration,
            "\(says): it does not know the patient, or takes no ids that a client chooses")
    }

    /// - Parameter wait: how long the whole answer asks to wait; no entry can say it.
    private func entryAnswer(
        _ entry: EntryResponse, after wait: Duration?
    ) -> FHIREntryAnswer {
        let status = entry.status
        var says: String { "`\(base)` answers \(status) to an Observation" }
        switch status {
        case 200, 201, 204: return .stored(isNew: status == 201, server: entry.version)
        case 400, 413, 422:
            guard entry.code != "not-found" else { return .later(unknownReference(says)) }
            return .refused(DisplayWord.of(entry.code ?? "status \(status)"))
        case 401:
            var refusal = FHIRRefusal(.credential, "\(says): \(ofLogin)")
            refusal.isOfToken = true
            return .later(refusal)
        case 403:
            var refusal = FHIRRefusal(.credential, "\(says): the token may not write it")
            refusal.isForbidden = true
            return .later(refusal)
        case 404, 410: return .missing(unknownReference(says))
        case 408, 425, 429, 500...599:
            var refusal = FHIRRefusal(.unreachable, says, after: wait)
            refusal.isTooFast = [429, 503].contains(status)
            return .later(refusal)
        default: return .unclear
        }
    }
}

/// What the answer to a bundle says of one entry (bundle.html#bundle-response).
private struct EntryResponse {
    /// The number of the status; 0 if there is none.
    var status = 0
    /// A digest of the server's name of the version.
    var version: UInt64 = 0
    /// The code of the first issue. Only this: what else an outcome says may repeat a value.
    var code: String?

    init(_ parser: inout JSONParser) throws(JSONFault) {
        try parser.members { name, parser throws(JSONFault) in
            guard name == "response" else { return false }
            try parser.members { name, parser throws(JSONFault) in
                switch name {
                case "status": status = try parser.text().map(EntryResponse.number(ofStatus:)) ?? 0
                case "etag": version = try parser.text().map(EntryResponse.digest(ofTag:)) ?? 0
                case "outcome": code = try EntryResponse.firstCode(&parser)
                default: return false
                }
                return true
            }
            return true
        }
    }

    private static func firstCode(_ parser: inout JSONParser) throws(JSONFault) -> String? {
        var codes: [String?] = []
        try parser.members { name, parser throws(JSONFault) in
            guard name == "issue" else { return false }
            try parser.elements { parser throws(JSONFault) in
                var code: String?
                try parser.members { name, parser throws(JSONFault) in
                    guard name == "code", codes.isEmpty else { return false }
                    code = try parser.text()
                    return true
                }
                if codes.isEmpty { codes.append(code) }
            }
            return true
        }
        return codes.first ?? nil
    }

    /// Returns the number that a status line such as `201 Created` begins with.
    private static func number(ofStatus text: String) -> Int {
        Int(Substring(text.utf8.prefix(3))) ?? 0
    }

    /// Returns the digest of a server's name of a version: `W/"3"` and `3` are the same one.
    private static func digest(ofTag tag: String) -> UInt64 {
        let quoted = tag.utf8.drop { $0 != UInt8(ascii: "\"") }.dropFirst()
        let name = quoted.prefix { $0 != UInt8(ascii: "\"") }
        return SentResources.Version.digest(name.isEmpty ? tag[...] : Substring(name))
    }
}

extension FHIREntryAnswer {
    var isOfToken: Bool {
        if case .later(let refusal) = self { refusal.isOfToken } else { false }
    }
}

/// A word of a server's answer, as a message may repeat it.
enum DisplayWord {
    static func of(_ text: String) -> String {
        let plain = text.prefix(40).filter {
            $0.isASCII && ($0.isLetter || $0.isNumber || "-_. ".contains($0))
        }
        return plain.isEmpty ? "nothing" : plain
    }
}

extension JSON {
    /// The elements of a list; `nil` for anything else.
    var list: [JSON]? { if case .array(let list) = self { list } else { nil } }
}
