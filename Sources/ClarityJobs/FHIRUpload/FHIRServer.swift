import Backend
import BackendContract
import HealthStore
import HealthModel
import ClarityScheduler
import JSON
import Platform

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
    /// Whether the server only wants fewer requests at a time.
    var isTooFast = false

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

/// A FHIR R4 server as a client sees it (hl7.org/fhir/R4/http.html).
struct FHIRServer {
    private let base: String
    private let allowsPlainHTTP: Bool
    private let login: FHIRLogin
    private let context: WorkContext

    /// - Throws: `Failure` for a secret that is missing, or is no key.
    init(_ options: FHIRUploadOptions, _ context: WorkContext) throws(Failure) {
        base = options.url.withoutSlashAtEnd
        allowsPlainHTTP = options.allowsPlainHTTP
        login = try FHIRLogin(options, context)
        self.context = context
    }

    /// Asks the server what it can (CapabilityStatement), and chooses by it how it gets resources.
    ///
    /// - Throws: `FHIRRefusal` unless it is a server of R4 that can keep a resource from being
    ///   stored twice.
    func abilities() async throws -> (naming: FHIRNaming, takesDevices: Bool) {
        let statement = try await answer(to: request(.get, "/metadata"))
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

    /// Checks that the server knows the patient, if it lets this client read it. Some servers take
    /// records of a patient that they do not have, and others refuse each one.
    func check(_ patient: FHIRPatient) async throws {
        guard case .reference(let reference) = patient else { return }
        let response = try await response(to: request(.get, "/\(reference)"))
        guard [404, 410].contains(response.status) else { return }
        throw FHIRRefusal(
            .configuration,
            "`\(base)` has no `\(reference)`; make it there, or name another patient")
    }

    /// Sends a bundle; returns the answer to each of its entries. Those that the server refused for
    /// the token, which may expire while it reads them, are sent once more.
    func send(_ bundle: FHIRBundle) async throws -> [FHIREntryAnswer] {
        let (response, sent) = try await exchange(request(bundle))
        // A dry run has shown the request, and nobody has answered it.
        guard !context.isDryRun else {
            return bundle.entries.map { _ in .stored(isNew: true, server: 0) }
        }
        var answers = try answers(in: response, to: bundle)
        let refused = answers.indices.filter { answers[$0].isOfToken }
        guard !refused.isEmpty else { return answers }
        let rest = bundle.part(refused)
        let again: [FHIREntryAnswer]
        do {
            guard try await login.renewed(after: sent) != nil else { return answers }
            again = try self.answers(in: await self.response(to: request(rest)), to: rest)
        } catch let refusal as FHIRRefusal {
            // The other entries have their answers.
            again = refused.map { _ in refusal.mayHaveArrived ? .unclear : .later(refusal) }
        }
        for (index, answer) in zip(refused, again) { answers[index] = answer }
        return answers
    }

    private func request(_ bundle: FHIRBundle) -> HTTPRequest {
        var request = request(.post, "")
        request.body = bundle.body
        // What was sent without an answer is looked up, and not sent again by libcurl.
        request.isOnce = true
        request.headers += [
            HTTPHeader("Content-Type", .plain("application/fhir+json")),
            HTTPHeader("Prefer", .plain("return=minimal")),
        ]
        return request
    }

    private func answers(
        in response: HTTPResponse, to bundle: FHIRBundle
    ) throws -> [FHIREntryAnswer] {
        let answered = try json(of: response)
        guard answered["resourceType"]?.text == "Bundle", let answers = answered["entry"]?.list,
            answers.count == bundle.entries.count
        else { throw unclear("did not answer each entry of a bundle") }
        let wait = wait(of: response)
        return answers.map { entryAnswer($0, after: wait) }
    }

    /// Returns those of some resources that the server has.
    ///
    /// - Parameter isWhole: whether to ask for all that they say, and not for their ids and versions
    ///   alone.
    func find(
        _ ids: some Collection<FHIRID>, _ type: String, _ naming: FHIRNaming, isWhole: Bool = false
    ) async throws -> [FHIRID: FHIRFound] {
        var found: [FHIRID: FHIRFound] = [:]
        var rest = Array(ids)[...]
        while !rest.isEmpty {
            let asked = rest.prefix(naming.mostLookedUp)
            rest = rest.dropFirst(asked.count)
            let wanted = Set(asked)
            var query = "/\(type)?\(naming.query(asked))&_count=\(2 * asked.count)"
            if !isWhole { query += "&_elements=id,identifier,meta" }
            let bundle = try await answer(to: request(.get, query))
            guard bundle["resourceType"]?.text == "Bundle" else {
                throw unclear("answered a look-up with no bundle")
            }
            for entry in bundle["entry"]?.list ?? [] {
                guard let one = entry["resource"].flatMap({ FHIRFound($0, naming) }),
                    wanted.contains(one.id)
                else { continue }
                found[one.id] = found[one.id] ?? one
            }
        }
        return found
    }

    /// Reads all Observations of a patient, page by page.
    ///
    /// - Parameters:
    ///   - since: the first day, such as `2026-01-01`; `nil` for all.
    ///   - take: gets each one that is found; one with an id of somebody else has none here.
    func read(
        of patient: FHIRPatient, since: String?, _ naming: FHIRNaming,
        _ take: (FHIRFound?) throws -> Void
    ) async throws {
        guard case .reference(let reference) = patient else {
            throw FHIRRefusal(
                .configuration, "a patient by identifier cannot be searched for; name `Patient/ID`")
        }
        var query = "/Observation?subject=\(reference)&_count=500"
            + "&_elements=id,identifier,meta"
        if let since { query += "&date=ge\(since)" }
        var address = base + query
        var seen: Set<String> = []
        while true {
            // A server whose pages lead in a circle would keep this going for ever.
            guard seen.insert(address).inserted else { throw unclear("pages lead in a circle") }
            let bundle = try await answer(to: request(.get, at: address))
            guard bundle["resourceType"]?.text == "Bundle" else {
                throw unclear("answered a search with no bundle")
            }
            for entry in bundle["entry"]?.list ?? [] where entry["resource"] != nil {
                try take(entry["resource"].flatMap { FHIRFound($0, naming) })
            }
            let next = (bundle["link"]?.list ?? []).first { $0["relation"]?.text == "next" }
            guard let url = next?["url"]?.text else { return }
            // The login is for this server alone.
            guard url.hasPrefix(base + "/") || url.hasPrefix(base + "?") else {
                throw FHIRRefusal(.configuration, "`\(base)` sends to other addresses for pages")
            }
            address = url
        }
    }

    // MARK: Requests and answers

    private func request(_ method: HTTPMethod, _ path: String) -> HTTPRequest {
        request(method, at: base + path)
    }

    private func request(_ method: HTTPMethod, at address: String) -> HTTPRequest {
        var request = HTTPRequest(
            method, address,
            headers: [HTTPHeader("Accept", .plain("application/fhir+json"))])
        request.allowsPlainHTTP = allowsPlainHTTP
        return request
    }

    private func unclear(_ what: String) -> FHIRRefusal {
        var refusal = FHIRRefusal(.unreachable, "`\(base)` \(what)")
        refusal.mayHaveArrived = true
        return refusal
    }

    /// Sends a request with a token; once more with another one if the server refuses the first.
    /// Returns the answer, and the request as it was answered.
    private func exchange(
        _ request: HTTPRequest
    ) async throws -> (response: HTTPResponse, sent: HTTPRequest) {
        let request = try await login.authorize(request)
        let response = try await send(request)
        guard response.status == 401, let again = try await login.renewed(after: request) else {
            return (response, request)
        }
        return (try await send(again), again)
    }

    private func response(to request: HTTPRequest) async throws -> HTTPResponse {
        try await exchange(request).response
    }

    private func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        do throws(TransportError) {
            return try await context.transport.send(request)
        } catch {
            let (failure, mayHaveArrived) = error.failure(of: "`\(base)`")
            var refusal = FHIRRefusal(failure.category, failure.reason)
            refusal.mayHaveArrived = mayHaveArrived
            throw refusal
        }
    }

    /// Returns the JSON of an answer with the status 200.
    private func answer(to request: HTTPRequest) async throws -> JSON {
        try json(of: try await response(to: request))
    }

    private func json(of response: HTTPResponse) throws -> JSON {
        guard response.status == 200 else { throw refusal(of: response) }
        do throws(JSONFault) {
            return try JSONParser.parse(response.body)
        } catch {
            throw unclear("answered with something else than JSON")
        }
    }

    private func refusal(of response: HTTPResponse) -> FHIRRefusal {
        let says = "`\(base)` answers \(response.status)"
        switch response.status {
        case 300...399:
            return FHIRRefusal(.configuration, "\(says), which sends elsewhere; name that place")
        case 401:
            return FHIRRefusal(.credential, "\(says): \(login.refusal)")
        case 403: return FHIRRefusal(.credential, "\(says): the token may not write there")
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
        RetryAfter.believable(response.headers["retry-after"], now: context.clock.now)
    }

    private func unknownReference(_ says: String) -> FHIRRefusal {
        FHIRRefusal(
            .configuration,
            "\(says): it does not know the patient, or takes no ids that a client chooses")
    }

    /// - Parameter wait: how long the whole answer asks to wait; no entry can say it.
    private func entryAnswer(_ entry: JSON, after wait: Duration?) -> FHIREntryAnswer {
        let response = entry["response"]
        let status = response?["status"]?.text.flatMap { Int($0.prefix(3)) } ?? 0
        let says = "`\(base)` answers \(status) to an Observation"
        switch status {
        case 200, 201, 204:
            return .stored(isNew: status == 201, server: versionDigest(response?["etag"]?.text))
        case 400, 413, 422:
            // Only the code: what else the outcome says may repeat a value.
            let code = response?["outcome"]?["issue"]?.list?.first?["code"]?.text
            guard code != "not-found" else { return .later(unknownReference(says)) }
            return .refused(DisplayWord.of(code ?? "status \(status)"))
        case 401:
            var refusal = FHIRRefusal(.credential, "\(says): \(login.refusal)")
            refusal.isOfToken = true
            return .later(refusal)
        case 403:
            return .later(FHIRRefusal(.credential, "\(says): the token may not write it"))
        case 404, 410: return .missing(unknownReference(says))
        case 408, 425, 429, 500...599:
            var refusal = FHIRRefusal(.unreachable, says, after: wait)
            refusal.isTooFast = [429, 503].contains(status)
            return .later(refusal)
        default: return .unclear
        }
    }
}

/// Returns the digest of a server's name of a version: `W/"3"` and `3` are the same one.
private func versionDigest(_ tag: String?) -> UInt64 {
    guard let tag else { return 0 }
    let name = tag.drop { $0 != "\"" }.dropFirst().prefix { $0 != "\"" }
    return SentResources.Version.digest(name.isEmpty ? tag[...] : name)
}

extension FHIREntryAnswer {
    fileprivate var isOfToken: Bool {
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
