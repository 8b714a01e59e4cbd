public import ClarityScheduler
import Database

/// The notices, and what each target was told of them.
///
/// A notice is stored before it leaves this machine, together with what to tell whom. A process may
/// be killed at any instant: what was not told is told by the next one, and what may have been told
/// is told again and counted.
public struct Notices: Sendable {
    /// How long a notice is kept after it was resolved: 90 days.
    public static let kept = Duration.seconds(90 * 86_400)

    let store: HealthStore

    /// Opens a notice for each that is active and not open, and resolves open ones that are no
    /// longer active.
    ///
    /// A target learns of a notice of its kinds once, and of its end if it learned of its beginning.
    /// A notice that ends before a target learned of it is not told at all.
    ///
    /// - Parameter targets: the name of each target, and the kinds that it wants.
    /// - Returns: how many were opened and resolved.
    public func update(
        _ active: [Notice], targets: [(name: String, kinds: Set<Notice.Kind>)], at now: Instant
    ) throws(HealthStoreError) -> (raised: Int, resolved: Int) {
        try store.changeAnyway { connection in
            var ended = try open(connection)
            var raised = 0
            for notice in active {
                let known = ended.firstIndex {
                    $0.notice.kind == notice.kind && $0.notice.subject == notice.subject
                }
                if let known {
                    let old = ended.remove(at: known)
                    guard old.notice.text != notice.text else { continue }
                    try connection.run(
                        "UPDATE notices SET text = ? WHERE id = ?", .text(notice.text),
                        .integer(old.id))
                } else {
                    try connection.run(
                        "INSERT INTO notices (kind, subject, text, raised_at_ms) VALUES (?, ?, ?, ?)",
                        .text(notice.kind.rawValue), .text(notice.subject), .text(notice.text),
                        .instant(now))
                    raised += 1
                }
            }
            for notice in ended { try resolve(notice.id, at: now, connection) }
            try tell(targets, connection)
            try connection.run(
                "DELETE FROM notices WHERE resolved_at_ms < ?",
                .instant(now - Notices.kept))
            return (raised, ended.count)
        }
    }

    private func resolve(_ id: Int64, at now: Instant, _ connection: Connection) throws {
        try connection.run(
            "UPDATE notices SET resolved_at_ms = max(?, raised_at_ms) WHERE id = ?",
            .instant(now), .integer(id))
        try connection.run(
            "DELETE FROM notice_deliveries WHERE notice = ? AND state = 'pending' AND sends = 0",
            .integer(id))
        try connection.run(
            """
            INSERT INTO notice_deliveries (notice, target, event, state)
            SELECT notice, target, 'resolved', 'pending' FROM notice_deliveries
            WHERE notice = ? AND event = 'raised'
            """, .integer(id))
    }

    /// Plans to tell each target of the open notices that it wants, and drops what is planned for
    /// targets that are gone.
    private func tell(
        _ targets: [(name: String, kinds: Set<Notice.Kind>)], _ connection: Connection
    ) throws {
        let planned = try connection.all(
            "SELECT DISTINCT target FROM notice_deliveries WHERE state <> 'sent'"
        ) { $0.text(0) }
        for name in planned where !targets.contains(where: { $0.name == name }) {
            try connection.run(
                "DELETE FROM notice_deliveries WHERE target = ? AND state <> 'sent'", .text(name))
        }
        for target in targets {
            for notice in try open(connection) where target.kinds.contains(notice.notice.kind) {
                try connection.run(
                    """
                    INSERT INTO notice_deliveries (notice, target, event, state)
                    VALUES (?, ?, 'raised', 'pending') ON CONFLICT DO NOTHING
                    """, .integer(notice.id), .text(target.name))
            }
        }
    }

    /// Returns what a target is to be told, oldest first.
    public func pending(for target: String) throws(HealthStoreError) -> [NoticeDelivery] {
        try store.all(
            """
            SELECT \(NoticeColumn.list), event, sends
            FROM notice_deliveries JOIN notices ON id = notice
            WHERE target = ? AND state <> 'sent' ORDER BY id, event
            """, .text(target)
        ) { row in
            // The CHECK constraint of the table allows no other word.
            NoticeDelivery(
                notice: StoredNotice(row), event: NoticeEvent(rawValue: row.text(6)) ?? .raised,
                unanswered: row.integer(7))
        }
    }

    /// Returns the instants of the last `count` messages to a target, newest first.
    public func lastMessages(
        to target: String, _ count: Int
    ) throws(HealthStoreError) -> [Instant] {
        try store.all(
            """
            SELECT DISTINCT sent_at_ms FROM notice_deliveries
            WHERE target = ? AND state = 'sent' ORDER BY sent_at_ms DESC LIMIT ?
            """, .text(target), .integer(Int64(count))
        ) { $0.instant(0) }
    }

    /// Records that a message is about to be sent: from now on it may have arrived.
    public func begin(
        _ deliveries: [NoticeDelivery], to target: String
    ) throws(HealthStoreError) {
        try set(deliveries, of: target, "state = 'sending', sends = sends + 1")
    }

    /// Records that the target has a message.
    public func finish(
        _ deliveries: [NoticeDelivery], to target: String, at now: Instant
    ) throws(HealthStoreError) {
        try set(deliveries, of: target, "state = 'sent', sent_at_ms = \(now.millisecondsSince1970)")
    }

    /// Records that a message did not arrive, or may have.
    public func postpone(
        _ deliveries: [NoticeDelivery], to target: String, mayHaveArrived: Bool
    ) throws(HealthStoreError) {
        try set(
            deliveries, of: target,
            "state = 'pending', sends = sends - \(mayHaveArrived ? 0 : 1)")
    }

    private func set(
        _ deliveries: [NoticeDelivery], of target: String, _ assignments: String
    ) throws(HealthStoreError) {
        try store.changeAnyway { connection in
            for delivery in deliveries {
                try connection.run(
                    """
                    UPDATE notice_deliveries SET \(assignments)
                    WHERE notice = ? AND target = ? AND event = ?
                    """, .integer(delivery.notice.id), .text(target),
                    .text(delivery.event.rawValue))
            }
        }
    }

    /// Returns the open notices, oldest first.
    public func open() throws(HealthStoreError) -> [StoredNotice] {
        try store.access { connection in try open(connection) }
    }

    private func open(_ connection: Connection) throws -> [StoredNotice] {
        try connection.all(
            "SELECT \(NoticeColumn.list) FROM notices WHERE resolved_at_ms IS NULL ORDER BY id",
            map: StoredNotice.init)
    }

    /// Returns the last `count` notices, newest first, and how many messages about each arrived, how
    /// many wait, and how many may have arrived twice.
    public func list(
        _ count: Int
    ) throws(HealthStoreError) -> [(
        notice: StoredNotice, sent: Int64, waiting: Int64, twice: Int64
    )] {
        try store.all(
            """
            SELECT \(NoticeColumn.list),
                (SELECT count(*) FROM notice_deliveries WHERE notice = id AND state = 'sent'),
                (SELECT count(*) FROM notice_deliveries WHERE notice = id AND state <> 'sent'),
                (SELECT count(*) FROM notice_deliveries WHERE notice = id AND sends > 1)
            FROM notices ORDER BY id DESC LIMIT ?
            """, .integer(Int64(count))
        ) { row in (StoredNotice(row), row.integer(6), row.integer(7), row.integer(8)) }
    }
}

private enum NoticeColumn: String, RowColumn {
    case id, kind, subject, text
    case raisedAt = "raised_at_ms"
    case resolvedAt = "resolved_at_ms"
}

extension StoredNotice {
    fileprivate init(_ row: borrowing Row) {
        // A notice of a newer version's kind reads as a failed job: the file is not shared with one.
        self.init(
            id: row.integer(NoticeColumn.id),
            notice: Notice(
                Notice.Kind(rawValue: row.text(NoticeColumn.kind)) ?? .jobFailed,
                about: row.text(NoticeColumn.subject), row.text(NoticeColumn.text)),
            raisedAt: row.instant(NoticeColumn.raisedAt),
            resolvedAt: row.optionalInstant(NoticeColumn.resolvedAt))
    }
}

extension HealthStore {
    /// What a person should know.
    public var notices: Notices { Notices(store: self) }
}
