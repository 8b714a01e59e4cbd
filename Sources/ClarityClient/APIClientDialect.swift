import ClarityContract
import ClarityScheduler
import ClarityTransport

extension APIClient {
    /// The request builder for the dialect in use.
    ///
    /// With `auto`, asks the backend for its dialect if neither this client nor `memory` knows it.
    ///
    /// - Throws: the error that detection failed with. An outage says nothing about the dialect.
    var requests: APIRequests {
        get async throws(APIError) {
            APIRequests(base: base, dialect: try await dialect())
        }
    }

    private func dialect() async throws(APIError) -> Dialect {
        if case .fixed(let dialect) = choice { return dialect }
        if let spoken { return spoken }
        if let name = try remembered(), let dialect = Dialect.named(name) {
            spoken = dialect
            return dialect
        }
        return try await askDialectAnew()
    }

    /// Asks the backend which dialect it speaks, whatever is remembered, and remembers the answer.
    ///
    /// Sends nothing if the job file names the dialect.
    @discardableResult
    func askDialectAnew() async throws(APIError) -> Dialect {
        if case .fixed(let dialect) = choice { return dialect }
        let greeting = APIRequests(base: base, dialect: .blueprint).greeting
        let dialect = try Dialect.shown(by: try await answered(greeting))
        spoken = dialect
        try remember(dialect.name)
        return dialect
    }

    /// Returns the answer to a greeting. A refusal is an answer too: a missing path identifies a
    /// dialect.
    private func answered(_ greeting: HTTPRequest) async throws(APIError) -> HTTPResponse {
        try await repeated(greeting, isRepeatable: true) { response, now in
            switch response.status {
            case 429, 500...: APIError(response, now: now)
            default: nil
            }
        }
    }

    /// Returns `dialectChanged` if the backend turns out to speak another dialect now, else
    /// `error`.
    ///
    /// Asks the backend only for `noSuchCall`, which says that a path is missing that the dialect
    /// must have, and at most once in the client's life.
    func explained(_ error: APIError) async -> APIError {
        guard case .noSuchCall = error, choice == .auto, let before = spoken, !hasAskedAnew else {
            return error
        }
        hasAskedAnew = true
        do throws(APIError) {
            return try await askDialectAnew() == before ? error : .dialectChanged
        } catch {
            return error
        }
    }

    private func remembered() throws(APIError) -> String? {
        try memorised("read") { try memory.dialect(of: base) }
    }

    private func remember(_ name: String) throws(APIError) {
        try memorised("keep") { try memory.remember(name, of: base) }
    }

    private func memorised<Value>(
        _ verb: String, _ body: () throws -> Value
    ) throws(APIError) -> Value {
        do {
            return try body()
        } catch let failure as Failure {
            throw .store(failure)
        } catch {
            // The error's own text could contain anything.
            let type = type(of: error)
            throw .store(Failure(.disk, "cannot \(verb) the dialect: error of type `\(type)`"))
        }
    }
}
