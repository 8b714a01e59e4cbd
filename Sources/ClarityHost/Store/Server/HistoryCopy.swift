public import ClarityScheduler
import Platform
public import Database
import Glibc

/// Copies a history from the file of a state directory to a server, or back, while nobody uses
/// either.
public final class HistoryCopy {
    private let file: String
    private let server: ServerAddress
    private let lock: FileLock
    /// Has the lead of the loop that decides, so that no loop begins to.
    private let turn: ServerConnection

    /// Keeps all others from both places.
    ///
    /// - Parameter path: the state directory, which is created if it is missing.
    /// - Throws: `RunStoreError.unreachable` if others use one of them.
    public init(
        inDirectory path: String, and server: ServerAddress
    ) throws(RunStoreError) {
        self.server = server
        file = "\(path)/history.db"
        let alone: FileLock?
        do throws(StateDirectoryError) {
            alone = try StateDirectory(path: path).alone(patience: .seconds(2))
        } catch {
            throw RunStoreError(error)
        }
        guard let alone else {
            throw .unreachable("the state in `\(path)` is in use; stop the loop meanwhile")
        }
        lock = alone
        turn = try rethrowing(server: "\(server)") {
            let turn = try ServerHistory.connect(to: server)
            let mark = String(UInt64.random(in: .min ... .max), radix: 36)
            try SessionMark.set("clarity-copy", mark, on: turn)
            guard try ServerHistory.takeLead(as: mark, turn) else {
                throw RunStoreError.unreachable("a loop uses `\(server)`; stop all loops meanwhile")
            }
            return turn
        }
    }

    /// Copies the history into the database.
    public func intoServer() throws(RunStoreError) -> TableCopy.Outcome {
        guard access(file, F_OK) == 0 else { return .empty }
        return try copy { file, target in try run(from: file, to: target) }
    }

    /// Copies the history into the file, which is created if there is none.
    public func intoFile() throws(RunStoreError) -> TableCopy.Outcome {
        try copy { file, source in
            let outcome = try run(from: source, to: file)
            guard case .copied = outcome else { return outcome }
            // The file remembers the highest number apart from the runs.
            try file.run(
                """
                UPDATE sqlite_sequence SET seq = max(seq, (SELECT through_run FROM prune_mark))
                WHERE name = 'runs' AND EXISTS (SELECT 1 FROM prune_mark)
                """)
            return outcome
        }
    }

    private func run(
        from source: Connection, to target: Connection
    ) throws -> TableCopy.Outcome {
        try TableCopy(from: source, to: target).runOnce(marks: ["runs", "prune_mark"])
    }

    /// Calls `body` in a transaction of both places.
    private func copy(
        _ body: (FileConnection, ServerConnection) throws -> TableCopy.Outcome
    ) throws(RunStoreError) -> TableCopy.Outcome {
        try rethrowing(server: "\(server)") {
            let path = file
            let file = try FileConnection(path: path)
            _ = try historyMigrations.version(of: file)
            try file.useWriteAheadLog()
            try migrateHistory(file, at: path)
            let remote = try ServerHistory.connect(to: server)
            return try remote.transaction { try file.transaction { try body(file, remote) } }
        }
    }
}
