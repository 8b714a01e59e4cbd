import Database

/// The schema of `health.db`. A new file gets it at once, and a former one by the steps that it
/// lacks: whoever changes a table changes its text in this folder, and adds a step that does the
/// same.
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
        Migrations(applicationID: applicationID, schema: "\(tables)\n\(firstRows)", steps: steps)
    }

    /// The tables, indices, views and triggers of the newest version.
    static let tables = [
        keyTables, sessionTables, sourceTables, contributionTables, outboxTables, sendingTables,
        packedTables, pulledTables, analysisTables, segmentTables, segmentDayTables, prunedTables,
        noticeTables, countTables,
    ].joined(separator: "\n")

    /// How many versions there were, with the newest.
    static var version: Int { steps.count }

    /// What made each version of the one before.
    private static let steps = [
        HealthVersions.version1, HealthVersions.uploads, HealthVersions.sessions,
        HealthVersions.vault, HealthVersions.dialects, HealthVersions.minutes,
        HealthVersions.intake, HealthVersions.ledger, HealthVersions.pulled,
        HealthVersions.analyses, HealthVersions.knownInsights, HealthVersions.restorations,
        HealthVersions.sending, HealthVersions.form, contributionTables, HealthVersions.named,
        noticeTables, segmentTables, segmentDayTables, HealthVersions.packed,
        HealthVersions.pruned, HealthVersions.batched, HealthVersions.generations,
        HealthVersions.heldRestorations, countTables + "\n" + HealthVersions.countedHead,
    ]

    /// The first version in which nothing stored in plain text depends on a value.
    static var formVersion: Int {
        // Always found, because `form` is one of the steps.
        (steps.firstIndex(of: HealthVersions.form) ?? 0) + 1
    }
}
