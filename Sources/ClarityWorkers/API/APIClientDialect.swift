import ClarityScheduler

extension APIClient {
    /// What builds the requests, in the dialect that is spoken; asks the backend for it when it is
    /// to be found out and nobody remembers it.
    ///
    /// - Throws: what asking failed with: an outage says nothing about the dialect.
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

    /// Asks which dialect the backend speaks, whatever is remembered, and remembers the answer.
    ///
    /// With a dialect that the job file names nothing is asked.
    @discardableResult
    func askDialectAnew() async throws(APIError) -> Dialect {
        if case .fixed(let dialect) = choice { return dialect }
        let greeting = APIRequests(base: base, dialect: .blueprint).greeting
        let dialect = try Dialect.shown(by: try await answered(greeting))
        spoken = dialect
        try remember(dialect.name)
        return dialect
    }

    /// The answer to a greeting, a refusal for which there is nothing at its path included.
    private func answered(_ greeting: HTTPRequest) async throws(APIError) -> HTTPResponse {
        try await repeated(greeting, isRepeatable: true) { response, now in
            switch response.status {
            case 429, 500...: APIError(response, now: now)
            default: nil
            }
        }
    }

    /// What to throw in the place of `error`, which says that a path is missing that must be there:
    /// when it turns out that the backend speaks another dialect now, that.
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
            // An error's own text could hold anything.
            let type = type(of: error)
            throw .store(Failure(.disk, "cannot \(verb) the dialect: error of type `\(type)`"))
        }
    }
}
