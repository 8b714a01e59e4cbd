import Backend
import HealthModel
import HealthStore
import ClarityScheduler

/// The login of one attempt at a FHIR server.
///
/// Several requests may use it at once.
actor FHIRLogin {
    /// The token of each request; `nil` for a server without a login.
    private let token: Secret?

    /// What a refused token means, for a message.
    nonisolated let refusal: String

    /// Reads the secrets of a job's options; a dry run gets none.
    ///
    /// - Throws: `Failure` for a secret that is not there.
    init(_ options: FHIRUploadOptions, _ context: WorkContext) throws(Failure) {
        token =
            if let name = options.secretName, !context.isDryRun {
                try context.secrets.secret(named: name)
            } else {
                nil as Secret?
            }
        refusal = token == nil ? "it wants a login" : "it refuses the token"
    }

    /// Returns a request with a token that is valid now.
    func authorize(_ request: HTTPRequest) async throws -> HTTPRequest {
        token.map { request.authorized(by: $0) } ?? request
    }

    /// Returns a request that the server refused with another token than then, to be sent once more;
    /// `nil` if there is no other token.
    func renewed(after request: HTTPRequest) async throws -> HTTPRequest? { nil }
}
