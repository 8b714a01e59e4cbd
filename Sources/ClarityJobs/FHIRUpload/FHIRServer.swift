import Backend
import BackendContract
import HealthStore
import HealthModel
import ClarityScheduler
import Platform

/// A FHIR R4 server as a client sees it (hl7.org/fhir/R4/http.html).
struct FHIRServer {
    /// The most pages of a search that are read: of ten million Observations on pages of 100.
    private static let mostPages = 100_000

    private let base: String
    private let allowsPlainHTTP: Bool
    private let login: FHIRLogin
    private let answers: FHIRAnswers
    private let context: WorkContext

    /// - Throws: `Failure` for a secret that is missing, or is no key.
    init(_ options: FHIRUploadOptions, _ context: WorkContext) throws(Failure) {
        base = options.url.withoutSlashAtEnd
        allowsPlainHTTP = options.allowsPlainHTTP
        login = try FHIRLogin(options, context)
        answers = FHIRAnswers(base: base, ofLogin: login.refusal, clock: context.clock)
        self.context = context
    }

    /// Asks the server what it can (CapabilityStatement), and chooses by it how it gets resources.
    ///
    /// - Throws: `FHIRRefusal` unless it is a server of R4 that can keep a resource from being
    ///   stored twice.
    func abilities() async throws -> (naming: FHIRNaming, takesDevices: Bool) {
        try answers.abilities(in: try await response(to: request(.get, "/metadata")))
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
        let count = bundle.entries.count
        var answers = try self.answers.entries(in: response, count: count)
        let refused = answers.indices.filter { answers[$0].isOfToken }
        guard !refused.isEmpty else { return answers }
        let rest = bundle.part(refused)
        let again: [FHIREntryAnswer]
        do {
            guard try await login.renewed(after: sent) != nil else { return answers }
            again = try self.answers.entries(
                in: await self.response(to: request(rest)), count: rest.entries.count)
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
        // Each would begin with a TLS handshake otherwise.
        request.keepsConnection = true
        request.headers += [
            HTTPHeader("Content-Type", .plain("application/fhir+json")),
            HTTPHeader("Prefer", .plain("return=minimal")),
        ]
        return request
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
            let page = try answers.page(in: try await response(to: request(.get, query)), naming)
            for case let one? in page.found where wanted.contains(one.id) {
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
        var query =
            "/Observation?subject=\(reference)&_count=500"
            + "&_elements=id,identifier,meta"
        if let since { query += "&date=ge\(since)" }
        var address = base + query
        var seen: Set<String> = []
        while true {
            guard seen.insert(address).inserted, seen.count <= FHIRServer.mostPages else {
                throw answers.unclear("has pages without end")
            }
            let page = try answers.page(
                in: try await response(to: request(.get, at: address)), naming)
            for one in page.found { try take(one) }
            guard let url = page.next else { return }
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
}
