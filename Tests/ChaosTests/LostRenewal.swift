import ClarityTestSupport
@testable import ProgramTestSupport
import Database

extension Playground {
    /// Returns whether the client asks for a login although the backend would renew the session.
    ///
    /// A refresh token works once. If the backend's answer to a renewal is lost, the new token was
    /// never stored here. After a kill or a broken connection that is no fault, but a person must
    /// log in again.
    func hasLostRenewal() async throws -> Bool {
        guard try await run("auth", "status").status == 77 else { return false }
        let backend = try FileConnection(
            path: "\(folder.path)/sandbox/sandbox.db", access: .readOnly)
        let tokens = try backend.first("SELECT count(*) FROM tokens WHERE kind = 'refresh'") {
            $0.integer(0)
        }
        return tokens ?? 0 > 0
    }
}
