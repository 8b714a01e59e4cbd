import ClarityHost
import HealthStore
import Database
import Synchronization

/// Asks a server which accounts are logged in.
final class ServerLogins: Sendable {
    private let server: ServerAddress
    private let connection = Mutex<ServerConnection?>(nil)

    init(_ server: ServerAddress) { self.server = server }

    /// Returns the names of the accounts; `nil` if the server does not answer.
    func now() -> Set<String>? {
        connection.withLock { connection in
            do throws(DatabaseError) {
                if connection?.hasFailed ?? true {
                    connection = try ServerConnection(server, patience: .seconds(5))
                }
                return try connection.map { connection throws(DatabaseError) in
                    try HealthServer.logins(connection)
                }
            } catch {
                // The decision that follows fails too, and says why.
                return nil
            }
        }
    }
}
