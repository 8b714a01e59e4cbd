import Database

/// The schema of `history.db`. A new file gets it at once, and one of an earlier release by the
/// steps that it lacks: whoever changes a table changes its text in `HistoryTables.swift`, and adds
/// a step that does the same. A step never changes.
let historyMigrations = Migrations(
    applicationID: 0x434C_4A48,
    schema: [
        jobTables, runTables, outputTables, bootTables, sourceTables, totalTables, answerTables,
        factTables, machineTables,
    ].joined(separator: "\n"),
    oldest: 11,
    steps: [factTables, machineTables])
