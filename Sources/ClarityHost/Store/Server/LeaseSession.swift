import ClaritySystem
import Database
@preconcurrency import Glibc
import Synchronization

/// Proves that the holder of leases is alive, by a lock that the server releases.
///
/// A session of its own holds the lock of the holder's name, beats twice a second, and hears when
/// another process has written. The server ends it when the holder is killed, cut off or frozen, and
/// then the leases lapse. It is not the session of the decisions, which waits for locks.
final class LeaseSession: Sendable {
    /// The time between two beats, and the silence after which the server ends the session.
    private static let beat = (every: Int32(500), silence: 1500)

    private let ending = Bell()
    private let thread = Mutex<JoinedThread?>(nil)

    /// Takes the lock of `owner` and begins to beat.
    ///
    /// - Parameter hear: called on a thread of this session's when another process has written, and
    ///   when the session has ended.
    /// - Throws: `DatabaseError`; `ThreadError` or `StateDirectoryError` if the system refuses.
    init(
        at address: ServerAddress, owner: String, channel: String,
        hear: @escaping @Sendable () -> Void
    ) throws {
        let connection = try ServerConnection(address, patience: .seconds(1))
        try connection.execute("LISTEN \(channel)")
        try connection.run(
            "SELECT pg_advisory_lock(?)", .integer(ServerPeers.lockKey(owner)))
        try connection.execute("SET idle_session_timeout = \(Self.beat.silence)")
        guard ending.descriptor >= 0 else {
            throw StateDirectoryError(path: "the session of the leases", errno: EMFILE)
        }
        // From here on, the thread alone uses the connection.
        nonisolated(unsafe) let handedOver = connection
        let started = try JoinedThread { [ending] in
            Self.beat(handedOver, until: ending, hear: hear)
            hear()
        }
        thread.withLock { $0 = started }
    }

    /// Ends the session and with it the leases.
    func end() {
        ending.ring()
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }

    /// Beats until the bell rings or the session ends.
    private static func beat(
        _ connection: ServerConnection, until ending: Bell, hear: () -> Void
    ) {
        while true {
            var descriptors = [
                pollfd(fd: ending.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: connection.socket, events: Int16(POLLIN), revents: 0),
            ]
            poll(&descriptors, 2, beat.every)
            guard descriptors[0].revents == 0 else { return }
            do throws(DatabaseError) {
                try connection.run("SELECT 1")
                if try !connection.takeNotifications().isEmpty { hear() }
            } catch {
                // The next decision finds the lock free, and says so.
                return
            }
        }
    }
}
