import ClarityScheduler
import SQLite

/// Finds the outbox sample that a pulled metric came from.
///
/// The backend knows a sample by an id derived from its user and its content (`MetricID`). A metric
/// begins at the same instant as its sample, so only a few samples must be decrypted.
struct SampleTwins {
    private let sealer: Sealer
    private let ids: MetricIDs

    /// Returns `nil` before the first login.
    init?(_ sealer: Sealer, _ connection: Connection) throws {
        guard let user = try AuditLog(connection: connection, sealer: sealer).user() else {
            return nil
        }
        self.sealer = sealer
        ids = MetricIDs(userID: user)
    }

    /// Records in a metric's row which sample it is, unless that is known.
    func link(_ row: CachedRow, _ connection: Connection) throws {
        let name = sealer.metricTag(row.id)
        let isOpen = try connection.first(
            "SELECT sample IS NULL FROM metrics WHERE id = ?", .text(name)
        ) { $0.integer(0) == 1 }
        guard isOpen == true, let group = MetricGroup(type: row.type) else { return }
        let start = (row.numbers?.span?.lowerBound ?? row.timestamp).secondsSince1970
        let wanted = row.id.lowercased()
        for kind in group.kinds {
            let found = try connection.all(
                """
                SELECT \(SampleRow.Column.list) FROM outbox
                WHERE kind = ? AND start_s = ? AND sealed IS NOT NULL LIMIT 100
                """, .text(kind.rawValue), .integer(start), map: SampleRow.init)
            for row in found {
                guard let sample = row.opened(sealer), ids(sample).description == wanted else {
                    continue
                }
                try connection.run(
                    "UPDATE metrics SET sample = ? WHERE id = ?", .integer(row.id), .text(name))
                return
            }
        }
    }
}
