import Backend
import BackendContract
import HealthStore
import HealthModel
import ClarityScheduler
import JSON
import Platform

/// An Observation under its id.
struct FHIREntry {
    let id: String
    let resource: [UInt8]
}

/// What a server answers to one entry of a bundle.
enum FHIREntryAnswer {
    case stored
    /// It will never take this record; carries the code of its reason.
    case refused(String)
    /// Whether it has the record is to be looked up.
    case unclear
    /// It takes this entry and all that follow another time, or not from us.
    case later(FHIRRefusal)
}

/// A server that did not take what was sent, and what that means for the attempt.
struct FHIRRefusal: Error {
    let outcome: Outcome
    /// Whether the server may have it in spite of that.
    var mayHaveArrived = false
    var isTooLarge = false
    /// Whether another token may help (401).
    var isOfToken = false

    /// Only a server that cannot be reached, or is busy, may take the same later.
    init(_ category: Failure.Category, _ reason: String, after wait: Duration? = nil) {
        let failure = Failure(category, reason)
        outcome = category == .unreachable ? .retry(after: wait, failure) : .failure(failure)
    }
}

/// A FHIR R4 server as a client sees it (hl7.org/fhir/R4/http.html).
struct FHIRServer {
    /// How many ids one look-up asks for: an address of some 2,000 characters.
    private static let mostLookedUp = 50

    private let base: String
    private let allowsPlainHTTP: Bool
    private let login: FHIRLogin
    private let context: WorkContext

    init(_ options: FHIRUploadOptions, _ login: FHIRLogin, _ context: WorkContext) {
        base = options.url.withoutSlashAtEnd
        allowsPlainHTTP = options.allowsPlainHTTP
        (self.login, self.context) = (login, context)
    }

    /// Checks that the server is one of R4 that takes batches and ids of clients, as far as it says
    /// (CapabilityStatement).
    func check() async throws {
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
        if observation?["updateCreate"] == .bool(false) {
            throw FHIRRefusal(
                .configuration,
                "`\(base)` takes no ids that a client chooses for Observations (updateCreate), without "
                    + "which a repetition could make a second one")
        }
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

    /// Puts Observations under their ids in one bundle; returns the answer to each. Those that the
    /// server refused for the token, which may expire while it reads them, are sent once more.
    func put(_ entries: [FHIREntry]) async throws -> [FHIREntryAnswer] {
        let (response, sent) = try await exchange(bundle(of: entries))
        var answers = try answers(in: response, to: entries)
        let refused = answers.indices.filter { answers[$0].isOfToken }
        guard !refused.isEmpty else { return answers }
        let rest = refused.map { entries[$0] }
        let again: [FHIREntryAnswer]
        do {
            guard try await login.renewed(after: sent) != nil else { return answers }
            again = try self.answers(in: await self.response(to: bundle(of: rest)), to: rest)
        } catch let refusal as FHIRRefusal {
            // The other entries have their answers.
            again = rest.map { _ in refusal.mayHaveArrived ? .unclear : .later(refusal) }
        }
        for (index, answer) in zip(refused, again) { answers[index] = answer }
        return answers
    }

    private func bundle(of entries: [FHIREntry]) -> HTTPRequest {
        var body = Array(#"{"resourceType":"Bundle","type":"batch","entry":["#.utf8)
        for (index, entry) in entries.enumerated() {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            body += #"{"resource":"#.utf8
            body += entry.resource
            body += #","request":{"method":"PUT","url":"Observation/\#(entry.id)"}}"#.utf8
        }
        body += "]}".utf8
        var request = request(.post, "")
        request.body = body
        // What was sent without an answer is looked up, and not sent again by libcurl.
        request.isOnce = true
        request.headers += [
            HTTPHeader("Content-Type", .plain("application/fhir+json")),
            HTTPHeader("Prefer", .plain("return=minimal")),
        ]
        return request
    }

    private func answers(
        in response: HTTPResponse, to entries: [FHIREntry]
    ) throws -> [FHIREntryAnswer] {
        let bundle = try json(of: response)
        guard bundle["resourceType"]?.text == "Bundle", let answers = bundle["entry"]?.list,
            answers.count == entries.count
        else { throw unclear("did not answer each entry of a bundle") }
        return answers.map(entryAnswer)
    }

    /// Returns those of some ids under which the server has an Observation.
    func find(_ ids: [String]) async throws -> Set<String> {
        var there: Set<String> = []
        var rest = ids[...]
        while !rest.isEmpty {
            let asked = rest.prefix(Self.mostLookedUp)
            rest = rest.dropFirst(asked.count)
            let query =
                "/Observation?_id=\(asked.joined(separator: ","))&_elements=id&_count=\(asked.count)"
            let bundle = try await answer(to: request(.get, query))
            guard bundle["resourceType"]?.text == "Bundle" else {
                throw unclear("answered a look-up with no bundle")
            }
            let found = (bundle["entry"]?.list ?? []).compactMap { $0["resource"]?["id"]?.text }
            there.formUnion(found.filter(asked.contains))
        }
        return there
    }

    // MARK: Requests and answers

    private func request(_ method: HTTPMethod, _ path: String) -> HTTPRequest {
        var request = HTTPRequest(
            method, base + path,
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

    private func answer(to request: HTTPRequest) async throws -> JSON {
        try json(of: await response(to: request))
    }

    /// Returns the JSON of an answer with the status 200.
    private func json(of response: HTTPResponse) throws -> JSON {
        guard response.status == 200 else { throw self.refusal(of: response) }
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

    private func entryAnswer(_ entry: JSON) -> FHIREntryAnswer {
        let response = entry["response"]
        let status = response?["status"]?.text.flatMap { Int($0.prefix(3)) } ?? 0
        let says = "`\(base)` answers \(status) to an Observation"
        switch status {
        case 200, 201: return .stored
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
        case 404, 410:
            return .later(unknownReference(says))
        case 408, 425, 429, 500...599:
            return .later(FHIRRefusal(.unreachable, says))
        default: return .unclear
        }
    }
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
    fileprivate var list: [JSON]? { if case .array(let list) = self { list } else { nil } }
}
