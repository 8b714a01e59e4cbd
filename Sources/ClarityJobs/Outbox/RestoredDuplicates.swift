import SQLite

/// What a restore makes of samples that come from a source only after it: where the backend would keep
/// both, one that was measured before may have been sent between the backup and the restore.
///
/// Told once a portion; a store that was never put back pays nothing for each sample.
struct RestoredDuplicates {
    /// Before when a sample is in doubt, in seconds since 1970; `nil` for none.
    private let until: Int64?

    init(_ connection: Connection) throws(SQLiteError) {
        until =
            try connection.first(
                "SELECT max(until_s) FROM restorations WHERE is_doubtful = 1"
            ) { $0.optionalInteger(0) } ?? nil
    }

    /// The column to insert, after others.
    var column: String { until == nil ? "" : ", doubts" }
    /// Its value, where the third parameter is the sample's end.
    var value: String { until.map { ", ?3 < \($0)" } ?? "" }
}
