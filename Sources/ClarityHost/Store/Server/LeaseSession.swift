import ClarityScheduler
import ClaritySystem
import Database
@preconcurrency import Glibc
import Synchronization

/// Proves that the holder of leases is alive, by a lock that the server releases.
///
/// A session of its own holds the lock of the holder's name, beats, and hears when another process
/// has written. The server ends it when the holder is killed, cut off or frozen, and then the leases
/// lapse. It is not the session of the decisions, which waits for locks.
///
/// A loop's session also waits for the lock of the shard, which one loop has at a time.
final class LeaseSession: Sendable {
    /// The time between two beats, in milliseconds.
    private static let beat: Int32 = 400
    /// The silence after which either side ends the session. Another loop waits to
    /// take over from a loop. Nobody waits for a command, whose runs would be lost for nothing when
    /// a machine is busy for a moment.
    private static let silence = (
        ofLoop: Duration.milliseconds(1500), ofCommand: Duration.seconds(10)
    )

    private let ending = Bell()
    /// Ends when the session has the lock of the shard, or has ended.
    let turn: AsyncStream<Void>
    private let isItsTurn = Atomic(false)
    private let isOver = Atomic(false)
    private let thread = Mutex<JoinedThread?>(nil)

    /// Whether the session has ended, or the server does not answer on it any more.
    var hasEnded: Bool { isOver.load(ordering: .acquiring) }

    /// Whether the session has the lock of the shard.
    var hasTurn: Bool { isItsTurn.load(ordering: .acquiring) }

    /// Takes the lock of `owner` and begins to beat.
    ///
    /// - Parameters:
    ///   - name: how the server's list of sessions names this one.
    ///   - shard: the key of the lock for which a loop waits; `nil` for what is no loop.
    ///   - hear: called on a thread of this session's when another process has written, and when
    ///     the session has ended.
    /// - Throws: `DatabaseError`; `ThreadError` or `StateDirectoryError` if the system refuses.
    init(
        at address: ServerAddress, owner: String, named name: String, channel: String,
        waitingFor shard: Int64?, hear: @escaping @Sendable () -> Void
    ) throws {
        let silence = shard == nil ? Self.silence.ofCommand : Self.silence.ofLoop
        let connection = try ServerConnection(address, patience: silence, cutOff: silence)
        try connection.run("SELECT set_config('application_name', ?, false)", .text(name))
        try connection.execute("LISTEN \(channel)")
        try connection.execute("LISTEN \(ServerChannel.logins)")
        try connection.run(
            "SELECT pg_advisory_lock(?)", .integer(ServerPeers.lockKey(owner)))
        try connection.execute("SET idle_session_timeout = \(silence.milliseconds)")
        guard ending.descriptor >= 0 else {
            throw StateDirectoryError(path: "the session of the leases", errno: EMFILE)
        }
        // From here on, the thread alone uses the connection.
        nonisolated(unsafe) let handedOver = connection
        let (turn, waiting) = AsyncStream.makeStream(of: Void.self)
        self.turn = turn
        let started = try JoinedThread { [ending, weak self] in
            Self.keepAlive(handedOver, until: ending, waitingFor: shard, hear: hear) {
                self?.isItsTurn.store(true, ordering: .releasing)
                waiting.finish()
            }
            self?.isOver.store(true, ordering: .releasing)
            waiting.finish()
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
    private static func keepAlive(
        _ connection: ServerConnection, until ending: Bell, waitingFor shard: Int64?,
        hear: () -> Void, begin: () -> Void
    ) {
        var shard = shard
        while true {
            do throws(DatabaseError) {
                if let key = shard,
                    try connection.integer("SELECT pg_try_advisory_lock(?)", .integer(key)) == 1
                {
                    shard = nil
                    begin()
                }
            } catch {
                // As below.
                return
            }
            var descriptors = [
                pollfd(fd: ending.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: connection.socket, events: Int16(POLLIN), revents: 0),
            ]
            poll(&descriptors, 2, beat)
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
