import Database

/// The schema of `health.db`. A new file gets it at once, and one of an earlier release by the
/// steps that it lacks: whoever changes a table changes its text in this folder, and adds a step
/// that does the same. A step never changes.
///
/// ```
/// outbox:   queued -> sending -> accepted -> confirmed | stored | unconfirmed
///             ^          |           |
///             '----------+-----------'  failures + 1; at 5: setAside
///           sending -> confirmed (the backend had it) | rejected | setAside (doubt)
///           queued <-> setAside (kind, future) | rejected (range)     by our own rules
///           accepted, confirmed, stored -> unconfirmed -> rejected    by `outbox erase`
/// batches:  sending -> accepted -> confirmed | stored | unconfirmed, or failed from either
///
/// stored: the backend has it and says no more
/// ```
///
/// A sample of a batch shares the batch's state until an answer names it. Its row says `batched`
/// then, and the view `samples` says what that means.
enum HealthSchema {
    /// `CLRH`, so that no other program's file is mistaken for this one.
    static let applicationID: Int64 = 0x434C_5248

    static var migrations: Migrations {
        Migrations(
            applicationID: applicationID, schema: "\(tables)\n\(firstRows)", oldest: 24,
            steps: ["\(countTables)\n\(countedHead)", publicationTables])
    }

    /// The tables, indices, views and triggers of the newest version.
    static let tables = [
        keyTables, sessionTables, sourceTables, partialAggregateTables, outboxTables, sendingTables,
        packedTables, pulledTables, analysisTables, segmentTables, segmentDayTables, prunedTables,
        noticeTables, countTables, publicationTables,
    ].joined(separator: "\n")

    /// Which counts of rows belong to the head of the audit log.
    private static let countedHead = """
        ALTER TABLE audit_head ADD COLUMN count_generation INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE audit_head ADD COLUMN count_rows INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE audit_head ADD COLUMN count_sum INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE audit_head ADD COLUMN count_floor INTEGER NOT NULL DEFAULT 0;
        """
}
