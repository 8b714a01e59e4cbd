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
    /// - Returns: how many were opened and resolved.
    public func update(
        _ active: [Notice], targets: [NoticeAddressee], at now: Instant
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

    /// Plans to tell each target of the open notices that it wants, and drops what is planned for targets that are gone.
    private func tell(
        _ targets: [NoticeAddressee], _ connection: Connection
    ) throws {
        let planned = try connection.all(
            "SELECT DISTINCT target FROM notice_deliveries WHERE state <> 'sent'"
        ) { $0.text(0) }
        for name in planned where !targets.contains(where: { $0.name == name }) {
            try connection.run(
                "DELETE FROM notice_deliveries WHERE target = ? AND state <> 'sent'", .text(name))
        }
        for target in targets {
            for notice in try open(connection) where target.wants(notice.notice) {
                try connection.run(
                    """
                    INSERT INTO notice_deliveries (notice, target, event, state)
                    VALUES (?, ?, 'raised', 'pending') ON CONFLICT DO NOTHING
                    """, .integer(notice.id), .text(target.name))
            }
        }
    }

    /// Returns what a target is to be told, oldest first.
    ///
    /// - Parameter reminding: a target that was told until then of a notice that is not over is told
    ///   again; `nil` for never.
    public func pending(
        for target: String, reminding limit: Instant? = nil
    ) throws(HealthStoreError) -> [NoticeDelivery] {
        try store.all(
            """
            SELECT \(NoticeColumn.list), event, sends, sent_at_ms
            FROM notice_deliveries JOIN notices ON id = notice
            WHERE target = ?
                AND (state <> 'sent' OR event = 'raised' AND resolved_at_ms IS NULL AND sent_at_ms <= ?)
            ORDER BY id, event
            """, .text(target), limit.map { .instant($0) } ?? .null
        ) { row in
            // The CHECK constraint of the table allows no other word.
            NoticeDelivery(
                notice: StoredNotice(row), event: NoticeEvent(rawValue: row.text(6)) ?? .raised,
                unanswered: row.integer(7), lastSent: row.optionalInstant(8))
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
        // A reminder is the first send of its message.
        try set(
            deliveries, of: target,
            """
            sends = CASE state WHEN 'sent' THEN 1 ELSE sends + 1 END, state = 'sending',
            sent_at_ms = NULL
            """)
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
        let reminders = deliveries.filter { $0.lastSent != nil && !mayHaveArrived }
        for delivery in reminders {
            // It was told once, and is to learn of the end, whatever becomes of the reminder.
            let sent = delivery.lastSent?.millisecondsSince1970 ?? 0
            try set([delivery], of: target, "state = 'sent', sent_at_ms = \(sent)")
        }
        try set(
            deliveries.filter { $0.lastSent == nil || mayHaveArrived }, of: target,
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

/// Something that a person should know, from when it begins until it is over.
///
/// It has job names, kinds of data and counts, and lines that a failed program wrote; never a health
/// value or an account.
public struct Notice: Hashable, Sendable {
    public enum Kind: String, CaseIterable, Sendable {
        /// The last finished run of a job failed for good.
        case jobFailed = "job-failed"
        /// Samples wait for a person's decision.
        case samplesSetAside = "samples-set-aside"
        /// Data is older than `fresh:` of the job file allows.
        case goalMissed = "goal-missed"
        /// A job waits for a login.
        case loginNeeded = "login-needed"
        /// Jobs were due for `Notice.silence`, and no scheduler ran.
        case schedulerOverdue = "scheduler-overdue"
        /// The newest backup is older than `Notice.oldBackup`.
        case backupOld = "backup-old"
        /// A job waits for free space.
        case diskLow = "disk-low"
        /// No job has reached the backend for `Notice.longOutage`.
        case backendUnreachable = "backend-unreachable-for"
        /// A service that starts the jobs failed, and the service manager does not restart it.
        case serviceFailed = "service-failed"
        /// The job file, or a job in it, has a fault.
        case jobFileFaulty = "job-file-faulty"
        /// An attempt of a job takes much longer than usual, or longer than the job file expects.
        case jobSlow = "job-slow"
    }

    /// The age at which the newest backup counts as old: 8 days.
    public static let oldBackup = Duration.seconds(8 * 86_400)
    /// The time without an answer of the backend that is worth a notice: 6 hours.
    public static let longOutage = Duration.seconds(6 * 3600)

    /// How late jobs are before the scheduler counts as silent: 15 minutes.
    public static let silence = Duration.seconds(15 * 60)
    /// How long a person is told that the scheduler was silent, or that a service failed while another
    /// one starts the jobs: a day.
    public static let toldSilence = Duration.seconds(86_400)

    public var kind: Kind
    /// What the notice is about: a job, a kind of data, or nothing. There is at most one open
    /// notice of a kind and subject.
    public var subject: String
    /// One sentence for people, without a full stop, and the details of it on further lines.
    public var text: String

    /// Creates a notice.
    public init(
        _ kind: Kind, about subject: String = "", _ text: String, details: [String] = []
    ) {
        self.kind = kind
        self.subject = subject
        self.text = ([text] + details).joined(separator: "\n")
    }

    /// What a detail begins with that a program wrote.
    public static let outputMark = "| "

    /// The sentence alone.
    public var headline: String { String(text.prefix { $0 != "\n" }) }

    /// The details.
    ///
    /// - Parameter withOutput: whether those that a program wrote are among them.
    public func details(withOutput: Bool) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().map(String.init)
            .filter { withOutput || !$0.hasPrefix(Notice.outputMark) }
    }
}

/// A target, as far as it matters which notices it is told of.
public struct NoticeAddressee: Sendable {
    public var name: String
    public var kinds: Set<Notice.Kind>
    /// The jobs whose notices it wants; `nil` for every notice.
    public var jobs: Set<String>?

    /// Creates a target.
    public init(name: String, kinds: Set<Notice.Kind>, jobs: Set<String>? = nil) {
        (self.name, self.kinds, self.jobs) = (name, kinds, jobs)
    }

    /// Whether it is told of a notice.
    public func wants(_ notice: Notice) -> Bool {
        kinds.contains(notice.kind) && (jobs?.contains(notice.subject) ?? true)
    }
}

/// What messages say beside their notices.
public struct NoticeContext: Hashable, Sendable {
    /// The name of the machine; empty if nobody has said it.
    public var host = ""
    /// How often each job failed in a row before its last success.
    public var failures: [String: Int] = [:]

    /// Creates a context.
    public init(host: String = "", failures: [String: Int] = [:]) {
        (self.host, self.failures) = (host, failures)
    }

    /// Reads what an order carries.
    public init(_ options: [String: String]) {
        host = options[NoticeContext.hostKey] ?? ""
        for (key, value) in options where key.hasPrefix(NoticeContext.failuresKey) {
            failures[String(key.dropFirst(NoticeContext.failuresKey.count))] = Int(value)
        }
    }

    /// The options that carry it in an order.
    public var options: [String: String] {
        let counts = failures.map { (NoticeContext.failuresKey + $0.key, "\($0.value)") }
        return Dictionary(counts) { first, _ in first }
            .merging([NoticeContext.hostKey: host]) { _, own in own }
    }

    private static let hostKey = "told.host"
    private static let failuresKey = "told.failures."
}

extension Notice {
    /// Returns the options that carry notices in an order.
    public static func options(_ notices: [Notice]) -> [String: String] {
        Dictionary(
            notices.enumerated().map { index, notice in
                (
                    "active.\(index)",
                    "\(notice.kind.rawValue)\u{0}\(notice.subject)\u{0}\(notice.text)"
                )
            }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the notices that an order carries; an option of another form counts as none.
    public static func active(in options: [String: String]) -> [Notice] {
        options.filter { $0.key.hasPrefix("active.") }.sorted { $0.key < $1.key }
            .compactMap { _, value in
                let parts = value.split(separator: "\u{0}", omittingEmptySubsequences: false)
                guard parts.count == 3, let kind = Kind(rawValue: String(parts[0])) else {
                    return nil
                }
                return Notice(kind, about: String(parts[1]), String(parts[2]))
            }
    }
}

/// What a target is told about a notice.
public enum NoticeEvent: String, CaseIterable, Sendable {
    case raised
    case resolved
}

/// A notice as it is stored.
public struct StoredNotice: Hashable, Sendable {
    public var id: Int64
    public var notice: Notice
    public var raisedAt: Instant
    /// When it was over; `nil` while it is open.
    public var resolvedAt: Instant?

    /// Creates a stored notice.
    public init(id: Int64, notice: Notice, raisedAt: Instant, resolvedAt: Instant? = nil) {
        self.id = id
        self.notice = notice
        self.raisedAt = raisedAt
        self.resolvedAt = resolvedAt
    }
}

/// Something to tell a target.
public struct NoticeDelivery: Hashable, Sendable {
    public var notice: StoredNotice
    public var event: NoticeEvent
    /// How often it may have arrived already: sends whose answer nobody saw.
    public var unanswered: Int64
    /// When the target was last told of it, if this is a reminder.
    public var lastSent: Instant?

    /// Creates a delivery.
    public init(
        notice: StoredNotice, event: NoticeEvent, unanswered: Int64 = 0, lastSent: Instant? = nil
    ) {
        self.notice = notice
        self.event = event
        self.unanswered = unanswered
        self.lastSent = lastSent
    }
}
