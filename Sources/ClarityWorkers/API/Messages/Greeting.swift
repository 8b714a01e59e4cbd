extension Dialect {
    /// Reads which dialect an answer at `greetingPath` shows.
    ///
    /// - Throws: `APIError.dialectUnknown` for an answer that is nobody's. What says that the
    ///   backend is out of order, or wants fewer requests, is for the caller, who has met it as an
    ///   error.
    static func shown(by response: HTTPResponse) throws(APIError) -> Dialect {
        switch response.status {
        case 200..<300:
            let service = service(in: response.body)
            guard let service, let dialect = all.first(where: { $0.greeting == .service(service) })
            else { throw .dialectUnknown }
            return dialect
        case 404:
            guard let dialect = all.first(where: { $0.greeting == .nothing }) else {
                throw .dialectUnknown
            }
            return dialect
        default: throw .dialectUnknown
        }
    }

    /// The name that a service gives itself in a greeting; `nil` when it gives none.
    private static func service(in body: [UInt8]) -> String? {
        do throws(APIError) {
            return try AnswerReader(.greeting).decode(HealthWire.self, from: body).service
        } catch {
            return nil
        }
    }
}
