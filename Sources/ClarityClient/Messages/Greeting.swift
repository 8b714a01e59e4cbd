import ClarityContract
import ClarityTransport

extension Dialect {
    /// Returns the dialect that an answer at `greetingPath` identifies.
    ///
    /// - Throws: `APIError.dialectUnknown` for an answer that fits no dialect. Outages and rate
    ///   limits do not get here: the caller has already turned them into errors.
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

    /// Returns the name that a service gives itself in a greeting; `nil` if it gives none.
    private static func service(in body: [UInt8]) -> String? {
        do throws(APIError) {
            return try AnswerReader(.greeting).decode(HealthWire.self, from: body).service
        } catch {
            return nil
        }
    }
}
