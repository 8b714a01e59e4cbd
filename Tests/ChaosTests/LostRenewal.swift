import ClarityTestSupport
@testable import ProgramTestSupport
import SQLite

extension Playground {
    /// Whether a login is asked for though the backend would renew the session: its answer to a
    /// renewal has not been kept here. A refresh token is good once, and the one in its place is on no
    /// disk. After a kill or a broken connection nothing is wrong with that, and a person must log in
    /// all the same.
    func hasLostRenewal() async throws -> Bool {
        guard try await run("auth", "status").status == 77 else { return false }
        let backend = try Connection(
            path: "\(folder.path)/sandbox/sandbox.db", access: .readOnly)
        let tokens = try backend.first("SELECT count(*) FROM tokens WHERE kind = 'refresh'") {
            $0.integer(0)
        }
        return tokens ?? 0 > 0
    }
}
